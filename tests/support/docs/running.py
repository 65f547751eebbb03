"""A page, executed: its blocks in order, in a project of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from support.docs.blocks import SHELLS, Block
from support.docs.checks import check_block
from support.docs.shell import Shell

EXECUTED = SHELLS | {"console", "python"}


@dataclass
class World:
    """Where the blocks of a page run. `names` are the variables of its Python blocks."""

    folder: Path
    shell: Shell
    names: dict[str, Any] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """The home that commands find in the folder."""
        return self.folder / ".calve"

    @contextmanager
    def inside(self) -> Iterator[None]:
        """This process in the place of a shell of the page."""
        before = Path.cwd()
        os.chdir(self.shell.folder)
        try:
            with mock.patch.dict(os.environ, self.shell.environment):
                yield
        finally:
            os.chdir(before)


def outcome(block: Block) -> str:
    """What the tests do with a block."""
    if not block.language:
        return "pictures and outputs"
    if "needs" in block.notes:
        return "need Spark: checked"
    if "sketch" in block.notes:
        return "sketches"
    if block.notes.is_only_checked:
        return "parsed only"
    return "executed" if block.language in EXECUTED or "file" in block.notes else "checked"


def run_page(blocks: list[Block], folder: Path, setups: Mapping[str, Callable[[World], None]]) -> None:
    """Check and execute blocks; the first that fails is an AssertionError that names its place."""
    folder.mkdir(exist_ok=True)
    world = World(folder, Shell.in_folder(folder))
    try:
        for block in blocks:
            if "setup" in block.notes:
                world.home.mkdir(exist_ok=True)
                with world.inside():
                    setups[block.notes.words["setup"]](world)
            check_block(block)
            if outcome(block) == "executed":
                _execute(block, world)
    finally:
        world.shell.close()


def _execute(block: Block, world: World) -> None:
    try:
        printed = _EXECUTIONS[block.language](block, world)
    except BaseException as error:
        error.add_note(f"in {block.place}")
        raise
    expected = block.notes.words.get("expect", "")
    assert expected in printed, f"{block.place}: {expected!r} is not in\n{printed}"


def _run_shell(block: Block, world: World) -> str:
    words = block.notes.words
    deadline = time.monotonic() + float(words.get("retry", 0))
    while True:
        try:
            ends_after = float(words["ends-after"]) if "ends-after" in words else None
            printed = world.shell.run(block.text, "fill" in block.notes, ends_after)
            assert words.get("expect", "") in printed, printed
            return printed
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def _run_console(block: Block, world: World) -> str:
    """Each command prints just what stands below it."""
    printed, expected, waiting = "", "", ""
    for line in [*block.text.splitlines(), "$ true"]:
        if not line.startswith("$ "):
            expected += line + "\n"
            continue
        if waiting:
            printed = world.shell.run(waiting)
            assert printed == expected, f"{block.place}: {waiting} printed\n{printed}"
        waiting, expected = line[2:], ""
    return printed


def _run_python(block: Block, world: World) -> str:
    with world.inside():
        exec(compile(block.text, block.place, "exec", dont_inherit=True), world.names)
    return ""


def _write_file(block: Block, world: World) -> str:
    file = world.shell.folder / block.notes.words["file"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block.text, encoding="utf-8")
    return ""


_EXECUTIONS: Mapping[str, Callable[[Block, World], str]] = {
    "sh": _run_shell,
    "bash": _run_shell,
    "console": _run_console,
    "python": lambda block, world: (_write_file if "file" in block.notes else _run_python)(block, world),
    "yaml": _write_file,
    "sql": _write_file,
    "toml": _write_file,
    "json": _write_file,
}
