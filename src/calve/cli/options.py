"""Options that several commands share, and the ledger they work on."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from calve.errors import UsageError
from calve.ledger.ledger import Ledger, connect
from calve.ledger.options import CaptureOptions
from calve.settings import parse_duration

TableArgument = Annotated[str, typer.Argument(help="catalog.namespace.table, or namespace.table.")]
CaptureIdArgument = Annotated[str, typer.Argument(help="As `calve capture` gave it.")]
ConsumerOption = Annotated[str, typer.Option("--consumer", help="Who processes the changes.")]
AnyConsumerOption = Annotated[str | None, typer.Option("--consumer", help="Only of this consumer.")]
AnyTableOption = Annotated[str | None, typer.Option("--table", help="Only of this table.")]
ModeOption = Annotated[str | None, typer.Option("--mode", help="append, net or log.", show_default="append")]
OperationsOption = Annotated[
    str | None, typer.Option("--operations", help="Which changes count: append,overwrite,delete.")
]
OnOtherOption = Annotated[
    str, typer.Option("--on-other", help="In append mode, about overwrites and deletes: skip or fail.")
]
RangeColumnsOption = Annotated[
    list[str] | None, typer.Option("--range-column", help="Tell this column's range; may be repeated.")
]
IdentifierColumnsOption = Annotated[
    list[str] | None, typer.Option("--identifier-column", help="A column of the rows' key; may be repeated.")
]
BranchOption = Annotated[str, typer.Option("--branch", help="The branch of the table.")]


def capture_options(
    mode: str | None,
    operations: str | None,
    on_other: str,
    range_columns: list[str] | None,
    identifier_columns: list[str] | None,
    branch: str,
) -> CaptureOptions:
    """What `capture` and `changes` are asked for, checked."""
    return CaptureOptions.parse(
        mode=mode,
        operations=operations,
        on_other=on_other,
        range_columns=range_columns or (),
        identifier_columns=identifier_columns or (),
        branch=branch,
    )


def duration(text: str | None, option: str) -> timedelta | None:
    """A duration as people write it. Raises DURATION_INVALID."""
    parsed = None if text is None else parse_duration(text)
    if parsed is None or isinstance(parsed, timedelta):
        return parsed
    raise UsageError(
        "DURATION_INVALID", f"found {text!r}; expected a duration such as 12h or 7d", f"correct {option}"
    )


def open_ledger() -> Ledger:
    """The ledger of the home that is in force."""
    return connect()
