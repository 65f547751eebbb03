"""What speaks against publishing a branch. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calve.backfill.spark.options import Thresholds
from calve.backfill.spark.report import AuditResult, Group, SchemaChange


def find_failures(
    limits: Thresholds,
    total: Group,
    schema_changes: Sequence[SchemaChange],
    audits: Sequence[AuditResult],
    has_keys: bool,
) -> tuple[str, ...]:
    """One line for each limit that is passed and each audit that has failed."""
    return (
        *_too_many(limits, total),
        *_shares(limits, total, has_keys),
        *_schema(limits, schema_changes),
        *(_audit(found) for found in audits if not found.passed),
    )


def _too_many(limits: Thresholds, total: Group) -> Iterator[str]:
    moves = total.moves
    for name, found, allowed in (
        ("max_added_rows", moves.added, limits.max_added_rows),
        ("max_removed_rows", moves.removed, limits.max_removed_rows),
        ("max_changed_rows", moves.changed, limits.max_changed_rows),
    ):
        if allowed is not None and found > allowed:
            yield f"{name}: {found:,} rows, at most {allowed:,} allowed"


def _shares(limits: Thresholds, total: Group, has_keys: bool) -> Iterator[str]:
    moves = total.moves
    changed = moves.changed if has_keys else moves.removed
    for name, count, allowed in (
        ("max_changed_share", changed, limits.max_changed_share),
        ("max_row_count_change", abs(total.branch.rows - total.main.rows), limits.max_row_count_change),
    ):
        # Where main has no row, any is more than every share.
        if allowed is not None and count > allowed * total.main.rows:
            shown = f"{count / total.main.rows:.2%}" if total.main.rows else "all"
            yield f"{name}: {count:,} of {total.main.rows:,} rows, {shown}, at most {allowed:.2%} allowed"


def _schema(limits: Thresholds, changes: Sequence[SchemaChange]) -> Iterator[str]:
    if limits.require_no_schema_change:
        for found in changes:
            before, now = found.branch_type or "not there", found.table_type or "not there"
            yield (
                f"require_no_schema_change: column {found.column} was {before} when the branch was written, "
                f"and is {now} in the table"
            )


def _audit(found: AuditResult) -> str:
    return f"audit {found.name}: {found.problem or f'gave {found.value}'}"
