"""What the CLI prints: one place for JSON, for people, and for errors.

Results go to stdout. Errors go to stderr, and with `--json` as an object to stdout.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calve.errors import CalveError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: Wider than any row of a table.
_ENDLESS = 10_000
JSON_FLAG = "--json"
JsonOption = Annotated[bool, typer.Option(JSON_FLAG, help="Print one JSON object, for programs.")]


def emit(value: Mapping[str, Any], json_output: bool, render: Callable[[Console], None]) -> None:
    """Print a result: `value` as JSON, or what `render` makes of it on a console."""
    if json_output:
        emit_json(value)
        return
    render(make_console())


def make_console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console for people; where it is no terminal, each row of a table is one line, to be searched."""
    from rich.console import Console

    console = Console(stderr=stderr, quiet=quiet, soft_wrap=True, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _ENDLESS
    return console


def emit_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def emit_error(error: CalveError, json_output: bool) -> int:
    """Print an error, and give back the exit code that belongs to it."""
    if json_output:
        emit_json(error.to_json())
        return error.exit_code
    from rich.text import Text

    console = make_console(stderr=True)
    # An error that stands for several, such as all that is wrong with a definition, is shown as these.
    for one in getattr(error, "problems", ()) or (error,):
        console.print(Text.assemble(("error: ", "bold red"), (one.message, "red"), f" [{one.code}]"))
        console.print(Text.assemble(("remedy: ", "bold"), one.remedy))
    return error.exit_code


def moment(timestamp_ms: int | None) -> str | None:
    """A moment for people: UTC, to the second."""
    if timestamp_ms is None:
        return None
    from datetime import UTC, datetime

    return datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")


def table(columns: list[str], rows: list[list[object]]) -> Table:
    """A plain table for people, as narrow as it can be: None is shown as a dash."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text("-" if cell is None else str(cell)) for cell in row))
    return made
