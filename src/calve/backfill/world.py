"""Whether the world is still as a plan found it."""

from __future__ import annotations

from sqlalchemy import Connection

from calve.backfill.plan import Plan, StagePlan
from calve.engine.catalog.versions import DEFAULT, resolve_version
from calve.errors import CalveError, RefusedError
from calve.lake import Lake, SourceTable, open_table


def check_world(connection: Connection, lake: Lake, plan: Plan) -> None:
    """Refuse a plan whose workflows, sources or targets are not what they were. Raises PLAN_STALE."""
    for stage in plan.stages:
        version = _version(connection, stage.workflow_id)
        if version != stage.version:
            raise _stale(f"'{stage.workflow_id}' is at version {version}, and was at {stage.version}")
        for source in stage.sources:
            _check_uuid(lake, source.table, source.uuid)
        check_targets(lake, stage)


def check_targets(lake: Lake, stage: StagePlan) -> None:
    """Refuse targets that were made anew, or whose schema has changed. Raises PLAN_STALE."""
    for target in stage.targets:
        table = _check_uuid(lake, target.table, target.uuid)
        schema_id = table.metadata.current_schema_id
        if schema_id != target.schema_id:
            raise _stale(
                f"the schema of {target.table} has changed: it is {schema_id}, and was {target.schema_id}"
            )


def _version(connection: Connection, workflow_id: str) -> int:
    try:
        return resolve_version(connection, workflow_id, DEFAULT)
    except CalveError as error:
        raise _stale(error.message) from error


def _check_uuid(lake: Lake, name: str, uuid: str) -> SourceTable:
    try:
        table = open_table(lake, name)
    except CalveError as error:
        raise _stale(error.message) from error
    if table.uuid != uuid:
        raise _stale(f"{name} is another table than it was: it was dropped and made anew")
    return table


def _stale(found: str) -> RefusedError:
    return RefusedError(
        "PLAN_STALE", f"the plan does not hold any more: {found}", "make a new one with `calve backfill plan`"
    )
