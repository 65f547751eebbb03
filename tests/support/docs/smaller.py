"""The command of a block on less data: the same one, with options that a page would not give."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support.docs.blocks import ROOT
from support.docs.checks import logical_lines


def smaller(text: str, options: str) -> str:
    """The only command of a block with more options; that which `make` would run, if it says `make`."""
    (line,) = logical_lines(text)
    command = line.partition(" #")[0].strip()
    return f"{_made(command) if command.startswith('make ') else command} {options}\n"


def _made(command: str) -> str:
    """The last command of a target, without the place where a clone has its programs."""
    done = subprocess.run(
        [*command.split(), "--dry-run", "--no-print-directory"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    program, _, rest = done.stdout.strip().splitlines()[-1].partition(" ")
    return f"{Path(program).name} {rest}"
