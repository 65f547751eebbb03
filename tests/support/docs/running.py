"""A page, executed: its blocks in order, in a project of their own."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from support.docs.blocks import SHELLS, Block
from support.docs.checks import check_block
from support.docs.sessions import session_on, stop_spark
from support.docs.shell import Shell, Way
from support.docs.smaller import smaller

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    if "sketch" in block.notes:
        return "sketches"
    if block.notes.is_only_checked:
        return "parsed only"
    is_run = block.language in EXECUTED or any(word in block.notes for word in ("file", "needs"))
    return "executed" if is_run else "checked"


def needs_spark(blocks: list[Block]) -> bool:
    """Whether a page is run with the tests that start a JVM."""
    return any("needs" in block.notes for block in blocks)


def needs_session(blocks: list[Block]) -> bool:
    """Whether blocks of a page speak to a session of Spark themselves; commands start Sparks of their own."""
    return any(
        outcome(block) == "executed" and block.language in ("python", "sql") and "file" not in block.notes
        for block in blocks
    )


def run_page(
    blocks: list[Block],
    folder: Path,
    setups: Mapping[str, Callable[[World], None]],
    spark: SparkSession | None = None,
) -> None:
    """Check and execute blocks; the first that fails is an AssertionError that names its place.

    With `spark`, the Spark of the tests, the Python blocks have a session `spark` on the lake of the page.
    """
    folder.mkdir(exist_ok=True)
    # What `make install` makes in a clone.
    (folder / ".venv").symlink_to(sys.prefix)
    world = World(folder, Shell.in_folder(folder))
    with ExitStack() as stack:
        if needs_spark(blocks):
            stack.callback(stop_spark, world.home)
        if spark is not None:
            world.names["spark"] = stack.enter_context(session_on(spark, world.home))
        stack.callback(world.shell.close)
        for block in blocks:
            if "setup" in block.notes:
                world.home.mkdir(exist_ok=True)
                with world.inside():
                    setups[block.notes.words["setup"]](world)
            check_block(block)
            if outcome(block) == "executed":
                _execute(block, world)


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
    ends_after = float(words["ends-after"]) if "ends-after" in words else None
    way = Way("fill" in words, ends_after, words.get("input", ""))
    text = smaller(block.text, words["smaller"]) if "smaller" in words else block.text
    while True:
        try:
            printed = world.shell.run(text, way)
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


def _run_sql(block: Block, world: World) -> str:
    rows = world.names["spark"].sql(world.shell.filled(block.text)).collect()
    return "\n".join(map(str, rows))


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
    "sql": lambda block, world: (_write_file if "file" in block.notes else _run_sql)(block, world),
    "toml": _write_file,
    "json": _write_file,
}
