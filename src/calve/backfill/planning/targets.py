"""The tables that a stage changes, and whether rows of the range are removed from them first."""

from __future__ import annotations

from calve.backfill.lineage.graph import Lineage
from calve.backfill.lineage.model import TableWrite
from calve.backfill.plan import TargetPlan
from calve.backfill.planning.choosing import Chosen
from calve.errors import RefusedError, UsageError
from calve.lake import Lake, SourceTable, open_table
from calve.lake.metadata import find_column
from calve.lake.model import RangeColumn
from calve.spark.targets import WriteKind


def plan_targets(
    lake: Lake,
    lineage: Lineage,
    chosen: Chosen,
    column: RangeColumn | None,
    *,
    on_branch: bool,
    clear: bool,
) -> tuple[TargetPlan, ...]:
    """What is known of each target. Raises TARGET_UNKNOWN, TARGET_NOT_FOUND and BRANCH_IMPOSSIBLE."""
    if not chosen.writes:
        told = f": {chosen.unknown[0]}" if chosen.unknown else ""
        raise UsageError(
            "TARGET_UNKNOWN",
            f"it is not known which tables '{chosen.workflow_id}' writes{told}",
            "declare them with `writes:` in the step that does",
        )
    targets = []
    for write in chosen.writes:
        table = _open(lake, chosen.workflow_id, write.table)
        if on_branch:
            _require_branch(chosen.workflow_id, write)
        why_not = _why_not_cleared(table, lineage, column) if clear else "rows of the range are to stay"
        schema_id = table.metadata.current_schema_id
        name = None if why_not is not None or column is None else column.name
        targets.append(TargetPlan(write.table, table.uuid, schema_id, name, why_not))
    return tuple(targets)


def _require_branch(workflow_id: str, write: TableWrite) -> None:
    """Refuse writes that Iceberg would not put on a branch."""
    why = None if write.by_spark else "by steps other than Spark"
    if WriteKind.CREATE in write.kinds:
        why = "by CREATE or REPLACE TABLE … AS SELECT"
    if why is not None:
        raise RefusedError(
            "BRANCH_IMPOSSIBLE",
            f"'{workflow_id}' writes {write.table} {why}, which does not go to a branch",
            "use --no-wap: targets are then written directly",
        )


def _open(lake: Lake, workflow_id: str, name: str) -> SourceTable:
    try:
        return open_table(lake, name)
    except UsageError as error:
        raise RefusedError(
            "TARGET_NOT_FOUND",
            f"'{workflow_id}' writes {name}, which is no table of the lake: {error.message}",
            "run the workflow once, so that the table is there; only tables of the lake can be backfilled",
        ) from error


def _why_not_cleared(table: SourceTable, lineage: Lineage, column: RangeColumn | None) -> str | None:
    if column is None:
        return "the range is of no column"
    schema = table.metadata.schema_of(None)
    found = find_column(schema, column.name)
    if found is None:
        return f"it has no column {column.name}"
    if found["type"] != column.type:
        return f"its column {column.name} is of type {found['type']}, not {column.type}"
    writers = lineage.writers(str(table.name))
    if len(writers) > 1:
        return f"other workflows write it too: {', '.join(writers)}"
    return None
