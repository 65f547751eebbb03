"""A SQL script, statement by statement."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from calve.errors import UsageError
from calve.spark.once.guard import Guard, Landed
from calve.spark.statements import Statement, split_statements
from calve.spark.step.board import Board
from calve.spark.step.failures import StatementError
from calve.spark.step.tables import SHOWN_ROWS, draw_table, to_plain

#: Statements that write in ways that cannot be marked.
_UNMARKED = ("BEGIN", "CALL")

#: What a statement did, in the order in which it is said.
_SAID = (
    ("input_rows", "rows read"),
    ("input_files", "files opened"),
    ("input_bytes", "bytes in them"),
    ("output_rows", "rows written"),
)

Say = Callable[[str], None]


def run_script(spark: Any, script: str, board: Board, say: Say, guard: Guard | None = None) -> dict[str, Any]:
    """Run all statements; what the last one gives, if it is one row, by column.

    With a guard, a statement that has written already, in an earlier attempt, is passed over.
    """
    statements = split_statements(script)
    if not statements:
        raise UsageError("SPARK_SCRIPT_EMPTY", "the script has no statement", "write SQL into 'script'")
    row: dict[str, Any] = {}
    for number, statement in enumerate(statements, 1):
        place = f"[{number}/{len(statements)}]"
        board.begin(number, len(statements), statement.shorten())
        say(f"{place} {statement.shorten()}")
        before = board.count()
        began = time.monotonic()
        with _numbered(statement, number, len(statements)):
            columns, rows, skipped = _execute(spark, statement, str(number), guard, say)
        if skipped is not None:
            say(f"{place} {skipped}: skipped")
            continue
        seconds = time.monotonic() - began
        row = (
            {name: to_plain(value) for name, value in zip(columns, rows[0], strict=True)}
            if len(rows) == 1
            else {}
        )
        _report(columns, rows, say)
        say(f"{place} done in {seconds:.2f} s{_rows(before, board.count())}")
    return row


def _execute(
    spark: Any, statement: Statement, number: str, guard: Guard | None, say: Say
) -> tuple[list[str], list[Any], str | None]:
    """The columns and the first rows of the result, which writes do not have; or why it did not run."""
    write = None if guard is None else guard.script.get(number)
    if guard is None or write is None:
        if guard is not None and statement.text.upper().startswith(_UNMARKED):
            say("calve: what this statement writes cannot be marked: it runs again if the step does")
        return (*_result(spark, statement), None)
    with guard.unless_landed(spark, number, write, statement.text) as verdict:
        if isinstance(verdict, Landed):
            return [], [], verdict.reason
        return (*_result(spark, statement), None)


def _result(spark: Any, statement: Statement) -> tuple[list[str], list[Any]]:
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
    counts = {key: after.get(key, 0) - before.get(key, 0) for key, _ in _SAID}
    return "".join(f", {counts[key]:,} {words}" for key, words in _SAID if counts[key])
