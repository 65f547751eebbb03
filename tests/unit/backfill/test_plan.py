"""A plan is data: it survives being kept, and what is explained is what it says."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from calve.backfill.explaining import duration_text, explain, size_text
from calve.backfill.plan import (
    ChunkPlan,
    Feeding,
    Order,
    Plan,
    SourcePlan,
    StagePlan,
    TargetPlan,
    Validation,
)
from calve.backfill.statuses import BackfillStatus, Phase, may_enter, require_move
from calve.errors import RefusedError

FIRST = StagePlan(
    workflow_id="daily",
    version=3,
    feeding=Feeding.RANGE,
    after=(),
    sources=(SourcePlan("lake.db.events", "u1", "day", ("daily/capture",)),),
    targets=(TargetPlan("lake.db.daily", "u2", 0, "day"),),
    chunks=(
        ChunkPlan("2024-01-01", "2024-01-02", 2, 1000, 5_000_000),
        ChunkPlan("2024-01-02", "2024-01-03", 1, 500, 1_000_000),
    ),
    served=(("agg/capture", "lake.db.daily"),),
    rows_per_second=100.0,
)
SECOND = StagePlan(
    workflow_id="agg",
    version=1,
    feeding=Feeding.NET,
    after=(0,),
    sources=(SourcePlan("lake.db.daily", "u2", "day", ("agg/capture",)),),
    targets=(TargetPlan("lake.db.agg", "u3", 1, None, "it has no column day"),),
    chunks=(),
)
PLAN = Plan(
    workflow_id="daily",
    column="day",
    kind="date",
    chunk="day",
    lower="2024-01-01",
    upper="2024-01-03",
    order=Order.NEWEST_FIRST,
    on_branch=True,
    params={"region": "us"},
    stages=(FIRST, SECOND),
    validation=Validation({"lake.db.daily": ("id",)}, {"full": "SELECT true"}, {"max_removed_rows": 0}),
    warnings=("mind the gap",),
)


def test_a_plan_survives_being_kept() -> None:
    assert Plan.from_json(json.loads(json.dumps(PLAN.to_json()))) == PLAN


def test_amounts_add_up_unless_one_is_unknown() -> None:
    assert (FIRST.files, FIRST.records, FIRST.bytes, FIRST.seconds) == (3, 1500, 6_000_000, 15.0)
    unknown = replace(FIRST, chunks=(*FIRST.chunks, ChunkPlan("a", "b")))
    assert (unknown.records, unknown.seconds) == (None, None)


def test_the_explanation_names_all_that_will_happen() -> None:
    text = "\n".join(explain(PLAN))
    for part in (
        "2024-01-01 to before 2024-01-03 of day",
        "1. daily (version 3)",
        "2. agg (version 1), after 1",
        "reads: lake.db.events by day",
        "changes: lake.db.daily, emptied of the range first",
        "changes: lake.db.agg",
        "3 files, 1,500 rows, 6.0 MB",
        "about 15 s",
        "exactly what changed upstream",
        "on branches",
        "Param region = us",
        "Warning: mind the gap",
    ):
        assert part in text


def test_sizes_and_durations_read_well() -> None:
    assert [size_text(x) for x in (0, 999, 1000, 1.5e9)] == ["0 B", "999 B", "1.0 kB", "1.5 GB"]
    assert [duration_text(x) for x in (3, 61, 7300)] == ["3 s", "1 min 1 s", "2 h 1 min"]


def test_phases_lead_to_published_and_never_back_from_it() -> None:
    reachable, waiting = {Phase.PLANNED}, [Phase.PLANNED]
    while waiting:
        phase = waiting.pop()
        for following in Phase:
            if following is not phase and may_enter(phase, following) and following not in reachable:
                reachable.add(following)
                waiting.append(following)
    assert reachable == set(Phase)
    assert not any(may_enter(Phase.PUBLISHED, phase) for phase in Phase if phase is not Phase.PUBLISHED)


@pytest.mark.parametrize("status", [BackfillStatus.DONE, BackfillStatus.CANCELLED, BackfillStatus.RUNNING])
def test_what_is_over_or_runs_is_not_started_again(status: BackfillStatus) -> None:
    with pytest.raises(RefusedError) as caught:
        require_move(7, status, BackfillStatus.RUNNING, "started")
    assert caught.value.code == f"BACKFILL_{status.value}"
