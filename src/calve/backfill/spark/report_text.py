"""A comparison as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calve.backfill.spark.report import AuditResult, Group, Report, Samples, SchemaChange

_SHOWN_GROUPS = 50
_WIDEST = 60


def write_markdown(report: Report) -> str:
    """The text: the verdict first, then what it rests on."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {report.table}: branch {report.branch} against main"
    yield ""
    yield "**Passed.**" if report.passed else f"**Failed**, {len(report.failures)} found:"
    yield from (f"- {failure}" for failure in report.failures)
    yield ""
    yield f"Snapshot {report.branch_snapshot_id} of the branch, {report.main_snapshot_id} of main. " + _by(
        report
    )
    moves = report.total.moves
    if report.total.main.rows == report.total.branch.rows == 0:
        yield "Both sides have the same files: nothing to compare."
    else:
        yield f"Rows added {moves.added:,}, removed {moves.removed:,}, changed {moves.changed:,}."
    yield from _groups(report)
    yield from _columns(report.total)
    yield from _samples(report.samples)
    yield from _schema(report.schema_changes)
    yield from _audits(report.audits)


def _by(report: Report) -> str:
    return (
        f"Rows compared by {', '.join(report.keys)}." if report.keys else "Rows compared by all their values."
    )


def _groups(report: Report) -> Iterator[str]:
    if not report.groups:
        return
    yield from ("", f"## By {report.group_by}", "")
    rows = [_counts(_named(group.values), group) for group in report.groups[:_SHOWN_GROUPS]]
    head = [report.group_by, "main", "branch", "added", "removed", "changed"]
    yield from _table(head, [*rows, _counts("all", report.total)])
    hidden = report.groups_not_shown + max(0, len(report.groups) - _SHOWN_GROUPS)
    if hidden:
        yield from ("", f"{hidden:,} more are not shown.")


def _counts(name: str, group: Group) -> list[Any]:
    moves = group.moves
    return [name, group.main.rows, group.branch.rows, moves.added, moves.removed, moves.changed]


def _columns(total: Group) -> Iterator[str]:
    """Only columns in which the sides differ: a table may have hundreds."""
    main, branch = total.main, total.branch
    rows = [
        [name, main.sums.get(name), branch.sums.get(name), main.nulls.get(name, 0), branch.nulls.get(name, 0)]
        for name in sorted(main.nulls.keys() | branch.nulls.keys())
        if main.sums.get(name) != branch.sums.get(name)
        or main.nulls.get(name, 0) != branch.nulls.get(name, 0)
    ]
    if rows:
        yield from ("", "## Sums and nulls that differ", "")
        yield from _table(["column", "sum on main", "on the branch", "nulls on main", "on the branch"], rows)


def _samples(samples: Samples) -> Iterator[str]:
    for title, rows in (("added", samples.added), ("removed", samples.removed)):
        if rows:
            yield from ("", f"## Rows {title}: some", "")
            yield from _table(list(rows[0]), [list(row.values()) for row in rows])
    if samples.changed:
        yield from ("", "## Rows changed: some", "")
        found = [
            [_named(row.key), name, *pair] for row in samples.changed for name, pair in row.columns.items()
        ]
        yield from _table(["key", "column", "main", "branch"], found)


def _schema(changes: Sequence[SchemaChange]) -> Iterator[str]:
    if changes:
        yield from ("", "## Schema", "")
        rows = [[found.column, found.table_type or "none", found.branch_type or "none"] for found in changes]
        yield from _table(["column", "in the table", "when the branch was written"], rows)


def _audits(audits: Sequence[AuditResult]) -> Iterator[str]:
    if audits:
        yield from ("", "## Audits", "")
        rows = [[x.name, "passed" if x.passed else "failed", x.problem or x.value] for x in audits]
        yield from _table(["audit", "", "value"], rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_cell, head))} |"
    yield "|" + "---|" * len(head)
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_cell(value)}" for name, value in values.items()) or "all"


def _cell(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool() | float():
            text = str(value)
        case int():
            text = f"{value:,}"
        case str():
            text = value
        case _:
            text = json.dumps(value)
    text = " ".join(text.split()).replace("|", "\\|")
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
