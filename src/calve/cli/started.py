"""How this command line was started, for commands that a person is told to give next."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from calve.cli.main import PROGRAM


def own_command() -> str:
    """`calve`, or where a shell would not find that, the words that started this process."""
    if shutil.which(PROGRAM) is not None:
        return PROGRAM
    started = Path(sys.argv[0])
    if started.suffix == ".py":
        return f"{shlex.quote(sys.executable)} -m calve.cli"
    return shlex.quote(str(started))
