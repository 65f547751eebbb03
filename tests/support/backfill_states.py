"""Backfills in any status and phase, without Spark: made by the store's own functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from calve.backfill.plan import ChunkPlan, Feeding, Order, Plan, SourcePlan, StagePlan, TargetPlan, Validation
from calve.backfill.records import Backfill, TargetState
from calve.backfill.spark.report import (
    AuditResult,
    ChangedRow,
    Group,
    Moves,
    Report,
    Samples,
    SchemaChange,
    Side,
)
from calve.backfill.statuses import BackfillStatus, Phase
from calve.backfill.store import (
    add_backfill,
    add_chunks,
    change_backfill,
    change_status,
    note_instance,
    read_backfill,
    read_chunks,
    read_stage,
    save_stage,
)
from calve.state.database import Database
from support.engine_rows import NOW, push_jobs, set_run, start

FIRST = date(2024, 1, 1)
#: The way of a stage from its plan to its publish.
_WAY = (
    Phase.PREPARING, Phase.RUNNING, Phase.VALIDATING, Phase.WAITING, Phase.PUBLISHING, Phase.PUBLISHED,
)  # fmt: skip


def make_plan(days: int = 4, workflow_id: str = "daily", **more: Any) -> Plan:
    """Two stages: `daily` by days, and `totals` with what changed in it."""
    bounds = [(FIRST + timedelta(days=n)).isoformat() for n in range(days + 1)]
    chunks = tuple(
        ChunkPlan(bounds[n], bounds[n + 1], files=2, records=1000, bytes=50_000) for n in range(days)
    )
    first = StagePlan(
        workflow_id, 1, Feeding.RANGE, (), (SourcePlan("lake.db.events", "u1", "day", ("daily/capture",)),),
        (TargetPlan("lake.db.daily", "u2", 0, "day"),), chunks, rows_per_second=250.0,
    )  # fmt: skip
    second = StagePlan(
        "totals", 3, Feeding.NET, (0,), (SourcePlan("lake.db.daily", "u2", None, ("totals/capture",)),),
        (TargetPlan("lake.db.totals", "u3", 0, None, "another workflow writes it, too"),), (),
    )  # fmt: skip
    plan = Plan(
        workflow_id=workflow_id, column="day", kind="date", chunk="day", lower=bounds[0], upper=bounds[-1],
        order=Order.NEWEST_FIRST, on_branch=True, params={}, stages=(first, second),
        validation=Validation(thresholds={"max_removed_rows": 1}),
        warnings=("'other' cannot take overwrites",),
    )  # fmt: skip
    return replace(plan, **more)


def keep_plan(
    database: Database, plan: Plan | None = None, reason: str | None = "bitrate was in bits", **more: Any
) -> Backfill:
    """A plan that is kept."""
    with database.write() as connection:
        options = {"author": "ada", "auto_publish": False, "concurrency": 2, **more}
        return add_backfill(connection, plan or make_plan(), reason=reason, **options)


def set_status(database: Database, backfill: Backfill, *way: BackfillStatus, **values: Any) -> Backfill:
    """Move a backfill along a way of statuses."""
    with database.write() as connection:
        for status in way:
            change_status(connection, backfill.id, status, "moved", **values)
        return read_backfill(connection, backfill.id)


def give_driver(database: Database, backfill: Backfill) -> int:
    """Start the workflow that drives a backfill, as far as the state goes; the key of its run."""
    push_jobs(database, backfill.driver, "stage_0", "stage_1")
    started = start(database, backfill.driver)
    with database.write() as connection:
        change_backfill(connection, backfill.id, instance_id=started.instance_id)
    return started.run


def enter(database: Database, backfill: Backfill, ordinal: int, phase: Phase, **state: Any) -> None:
    """Bring a stage to a phase by the legal way, with this state in the end."""
    way = [*_WAY[: _WAY.index(Phase.PUBLISHING) + 1], phase] if phase is Phase.REPLAYING else [*_WAY]
    if phase is not Phase.REPLAYING:
        way = way[: way.index(phase) + 1]
    with database.write() as connection:
        stage = read_stage(connection, backfill, ordinal)
        for following in way:
            stage = save_stage(connection, stage, following, stage.state)
        save_stage(connection, stage, phase, replace(stage.state, **state))


def branch_state(**more: Any) -> dict[str, Any]:
    """The state of a first stage that has its branch."""
    return {"branch": "backfill_1_0", "branched": True, "targets": {"lake.db.daily": TargetState(7)}, **more}


def queue_chunks(
    database: Database, backfill: Backfill, statuses: Sequence[str | None], stage: int = 0
) -> None:
    """The chunks of a stage with the statuses of their runs; None: not queued."""
    name = backfill.chunk_workflow(stage)
    push_jobs(database, name, "capture", "write", "commit")
    plans = list(enumerate(make_plan(len(statuses)).stages[0].chunks))
    with database.write() as connection:
        add_chunks(connection, backfill, stage, 1, plans)
        chunks = read_chunks(connection, backfill.id, stage)
    for chunk, status in zip(chunks, statuses, strict=True):
        if status is None:
            continue
        started = start(database, name)
        ended = None if status in ("CREATED", "IN_PROGRESS") else NOW + 90_000
        begun = None if status == "CREATED" else NOW + 5_000
        set_run(database, started.run, status=status, started_at=begun, ended_at=ended)
        with database.write() as connection:
            note_instance(connection, chunk, started.instance_id)


def make_report(table: str = "lake.db.daily", passed: bool = True, groups: int = 3) -> dict[str, Any]:
    """What a comparison found, with something of everything."""
    side = Side(40, {"secs": 1500.5}, {"secs": 0, "note": 1})
    other = Side(41, {"secs": 1800.5}, {"secs": 2, "note": 1})
    listed = tuple(
        Group(
            {"day": (FIRST + timedelta(days=n)).isoformat()},
            Side(10),
            Side(11 if n == 0 else 10),
            Moves(1, 0, 2),
        )
        for n in range(groups)
    )
    report = Report(
        table=table, branch="backfill_1_0", main_snapshot_id=8830, branch_snapshot_id=5921,
        group_by="partition", keys=("id",), total=Group({}, side, other, Moves(3, 2, 6)), groups=listed,
        groups_not_shown=5 if groups > 60 else 0,
        samples=Samples(
            ({"id": 11, "note": "<script>alert(1)</script>"},), ({"id": 12, "note": None},),
            (ChangedRow({"id": 13}, {"secs": (1.5, 15.0)}),),
        ),
        schema_changes=() if passed else (SchemaChange("extra", "int", None),),
        audits=(AuditResult("no negative secs", passed=True, value=0),
                AuditResult("no day is missing", passed=passed, value=True if passed else 3)),
        failures=() if passed else ("max_removed_rows: 2 rows, at most 1 allowed",),
    )  # fmt: skip
    return report.to_json()
