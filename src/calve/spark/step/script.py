"""A SQL script, statement by statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from calve.errors import UsageError
from calve.spark.statements import Statement, split_statements
from calve.spark.step.board import Board
from calve.spark.step.failures import StatementError
from calve.spark.step.tables import SHOWN_ROWS, draw_table, to_plain

_SNAPSHOT_PROPERTY = "spark.sql.iceberg.snapshot-property.calve.statement"

Say = Callable[[str], None]


def run_script(
    spark: Any, script: str, board: Board, say: Say, property_prefix: str | None = None
) -> dict[str, Any]:
    """Run all statements; what the last one gives, if it is one row, by column."""
    statements = split_statements(script)
    if not statements:
        raise UsageError("SPARK_SCRIPT_EMPTY", "the script has no statement", "write SQL into 'script'")
    row: dict[str, Any] = {}
    for number, statement in enumerate(statements, 1):
        board.begin(number, len(statements), statement.shorten())
        say(f"[{number}/{len(statements)}] {statement.shorten()}")
        if property_prefix is not None:
            spark.conf.set(_SNAPSHOT_PROPERTY, f"{property_prefix}/{number}")
        before = board.count()
        began = time.monotonic()
        with _numbered(statement, number, len(statements)):
            columns, rows = _execute(spark, statement)
        seconds = time.monotonic() - began
        row = (
            {name: to_plain(value) for name, value in zip(columns, rows[0], strict=True)}
            if len(rows) == 1
            else {}
        )
        _report(columns, rows, say)
        say(f"[{number}/{len(statements)}] done in {seconds:.2f} s{_rows(before, board.count())}")
    return row


def _execute(spark: Any, statement: Statement) -> tuple[list[str], list[Any]]:
    """The columns and the first rows of the result; writing statements have neither."""
    result = spark.sql(statement.text)
    return (result.columns, result.take(SHOWN_ROWS + 1)) if result.columns else ([], [])


@contextmanager
def _numbered(statement: Statement, number: int, total: int) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise StatementError(number, total, statement) from error


def _report(columns: Sequence[str], rows: Sequence[Any], say: Say) -> None:
    if columns:
        say(draw_table(columns, rows[:SHOWN_ROWS], has_more=len(rows) > SHOWN_ROWS))


def _rows(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What a statement read and wrote, where Spark can tell."""
    said = ""
    for key, verb in (("input_rows", "read"), ("output_rows", "written")):
        count = after.get(key, 0) - before.get(key, 0)
        if count:
            said += f", {count:,} rows {verb}"
    return said
