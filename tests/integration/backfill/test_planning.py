"""Plans, from metadata alone: what they hold, what they warn of, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pyiceberg.types import StringType

from calve.backfill.plan import Feeding
from calve.backfill.statuses import BackfillStatus
from calve.errors import CalveError
from calve.steps.incremental.shared import ledger_of
from support.backfill_states import set_status
from support.backfill_world import World
from support.engine_runs import flow


def test_a_plan_has_stages_in_order_with_what_each_reads_and_changes(chain: World) -> None:
    plan = chain.plan(keys={"db.daily": ["id"]}, thresholds={"max_removed_rows": "3"})
    first, second = plan.stages
    assert (first.workflow_id, second.workflow_id) == ("a", "b")
    assert (first.feeding, second.feeding, second.after) == (Feeding.RANGE, Feeding.NET, (0,))
    assert [(x.lower, x.upper, x.files, x.records) for x in first.chunks] == [
        ("2024-01-02", "2024-01-03", 1, 10),
        ("2024-01-03", "2024-01-04", 1, 10),
    ]
    assert [(x.table, x.clear_column) for x in first.targets] == [("lake.db.daily", "day")]
    assert first.served == (("b/capture", "lake.db.daily"),)
    assert plan.validation.keys == {"lake.db.daily": ("id",)}
    assert plan.validation.thresholds == {"max_removed_rows": 3}
    assert plan.warnings == ()


def test_chunks_by_number_of_files_take_whole_days(chain: World) -> None:
    plan = chain.plan("a", "2024-01-01", "2024-01-06", chunk="2files")
    assert [(x.lower, x.files) for x in plan.stages[0].chunks] == [
        ("2024-01-01", 2),
        ("2024-01-03", 2),
        ("2024-01-05", 1),
    ]


def test_downstream_may_be_left_out_or_named(chain: World) -> None:
    assert len(chain.plan(downstream=["none"]).stages) == 1
    assert len(chain.plan(downstream=["b"]).stages) == 2
    with pytest.raises(CalveError) as caught:
        chain.plan(downstream=["zzz"])
    assert caught.value.code == "DOWNSTREAM_INVALID"
    assert "b" in caught.value.remedy


def test_who_cannot_take_overwrites_gets_whole_days_and_is_warned_of(chain: World) -> None:
    chain.table("other")
    chain.merges("c", "daily", "other")
    plan = chain.plan()
    assert next(x for x in plan.stages if x.workflow_id == "c").feeding is Feeding.RANGE
    assert any("'c' cannot take overwrites" in warning for warning in plan.warnings)


def test_who_cannot_be_fed_is_left_out_with_a_warning(chain: World) -> None:
    chain.table("other")
    chain.push("lookback", "INSERT OVERWRITE db.other SELECT * FROM db.daily")
    plan = chain.plan()
    assert "lookback" not in {stage.workflow_id for stage in plan.stages}
    assert any("'lookback' is left out" in warning for warning in plan.warnings)


def test_a_diamond_is_planned_once_each_in_order(world: World) -> None:
    for name in ("t0", "t1", "t2", "t3", "t4"):
        world.table(name, days=2)
    world.merges("a", "t0", "t1")
    world.merges("left", "t1", "t2")
    world.merges("right", "t1", "t3")
    world.push(
        "both",
        "INSERT INTO db.t4 SELECT * FROM ${capture__icdc_table['t2']}",
        ["db.t2", "db.t3"],
    )
    plan = world.plan()
    assert [stage.workflow_id for stage in plan.stages] == ["a", "left", "right", "both"]
    assert plan.stages[3].after == (1, 2)


def test_a_range_without_data_is_warned_of(chain: World) -> None:
    plan = chain.plan("a", "2023-01-01", "2023-01-02")
    assert any("nothing to read" in warning for warning in plan.warnings)


def test_definitions_that_are_younger_than_what_they_made_are_one_warning(chain: World) -> None:
    ledger = ledger_of(chain.calve.settings)
    ledger.capture("db.events", consumer="a/capture").commit()
    ledger.capture("db.daily", consumer="b/capture").commit()
    chain.merges("a", "events", "daily")
    chain.merges("b", "daily", "agg", data_operations=["append", "overwrite", "delete"])
    (warning,) = chain.plan().warnings
    assert re.match(r"version 2 of 'a' \(.*\), version 2 of 'b' \(.*\) were pushed after history", warning)


def test_a_backfill_that_goes_on_over_the_same_workflows_is_one_warning(chain: World) -> None:
    other = chain.keep("a", "2024-01-01", "2024-01-02")
    set_status(chain.calve.database, other, BackfillStatus.RUNNING, BackfillStatus.PAUSED)
    (warning,) = chain.plan().warnings
    assert warning.startswith(f"backfill {other.id} is paused on 'a', 'b' too")


def test_rows_that_others_write_too_are_not_cleared(chain: World) -> None:
    chain.merges("second", "events", "daily")
    plan = chain.plan(downstream=["none"])
    assert plan.stages[0].targets[0].clear_column is None
    assert any("other workflows write it too" in warning for warning in plan.warnings)


@pytest.mark.parametrize(
    ("lower", "upper", "code"),
    [
        ("2024-01-02", "2024-01-02", "RANGE_EMPTY"),
        ("2024-01-03", "2024-01-02", "RANGE_REVERSED"),
        ("2999-01-01", "2999-01-02", "RANGE_IN_FUTURE"),
        ("yesterday", "2024-01-02", "RANGE_VALUE_INVALID"),
        ("7", "9", "RANGE_VALUE_INVALID"),
    ],
)
def test_a_range_that_is_none_is_refused(chain: World, lower: str, upper: str, code: str) -> None:
    error = chain.refusal("a", lower, upper)
    assert error.code == code
    assert error.remedy


def test_what_is_wrong_with_a_workflow_is_refused(world: World) -> None:
    assert world.refusal("nope").code == "WORKFLOW_NOT_FOUND"
    world.table("events", days=2)
    world.push("silent", "SELECT 1", ["db.events"])
    assert world.refusal("silent").code == "TARGET_UNKNOWN"
    world.merges("early", "events", "missing")
    assert world.refusal("early").code == "TARGET_NOT_FOUND"
    world.table("t")
    world.push("by_params", "INSERT INTO db.t SELECT * FROM db.events")
    assert world.refusal("by_params").code == "RANGE_PARAMS_MISSING"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"chunk": "week"}, "CHUNK_INVALID"),
        ({"chunk": "hour"}, "CHUNK_UNSUPPORTED"),
        ({"column": "nope"}, "RANGE_COLUMN_NOT_FOUND"),
        ({"concurrency": 0}, "CONCURRENCY_INVALID"),
        ({"keys": {"db.events": ["id"]}}, "KEYS_UNKNOWN"),
        ({"thresholds": {"max_nonsense": 1}}, "BACKFILL_REQUEST_INVALID"),
        ({"downstream": ["all", "b"]}, "DOWNSTREAM_INVALID"),
    ],
)
def test_other_mistakes_are_refused_by_name(chain: World, more: dict[str, Any], code: str) -> None:
    assert chain.refusal(**more).code == code


def test_a_workflow_without_captures_is_told_its_range_by_params(world: World) -> None:
    world.table("events", days=2)
    world.table("t")
    world.calve.push(
        flow(
            {
                "job": {
                    "id": "write",
                    "type": "Sql",
                    "script": "INSERT OVERWRITE db.t SELECT * FROM db.events",
                }
            },
            id="by_params",
            RUN_DATE="2024-01-01",
        )
    )
    plan = world.plan("by_params")
    assert plan.stages[0].feeding is Feeding.PARAMS
    assert plan.params == {"RUN_DATE": "{from}"}
    assert len(plan.stages[0].chunks) == 2


def test_a_plan_that_does_not_hold_any_more_is_refused(chain: World) -> None:
    by_version = chain.keep("a", "2024-01-02", "2024-01-04")
    chain.merges("a", "events", "daily")
    by_schema = chain.keep("a", "2024-01-02", "2024-01-04")
    with chain.catalog.load_table("db.daily").update_schema() as update:
        update.add_column("more", StringType())
    by_table = chain.keep("a", "2024-01-02", "2024-01-04")
    chain.catalog.drop_table("db.agg")
    chain.table("agg")
    for backfill, word in ((by_version, "version 2"), (by_schema, "schema"), (by_table, "another table")):
        with pytest.raises(CalveError) as caught:
            chain.backfills.start(backfill.id, "ada")
        assert caught.value.code == "PLAN_STALE"
        assert word in caught.value.message
        assert chain.backfills.status(backfill.id)["status"] == "PLANNED"


def test_what_is_not_there_or_not_under_way_is_said(chain: World) -> None:
    with pytest.raises(CalveError) as caught:
        chain.backfills.status(99)
    assert caught.value.code == "BACKFILL_NOT_FOUND"
    planned = chain.keep("a", "2024-01-02", "2024-01-04").id
    for action in (chain.backfills.pause, chain.backfills.retry):
        with pytest.raises(CalveError) as caught:
            action(planned, "ada")
        assert caught.value.code == "BACKFILL_PLANNED"
    with pytest.raises(CalveError) as caught:
        chain.backfills.approve(planned)
    assert caught.value.code == "NOTHING_TO_PUBLISH"
    assert chain.backfills.cancel(planned, "ada").status == "CANCELLED"
    with pytest.raises(CalveError) as caught:
        chain.backfills.start(planned, "ada")
    assert caught.value.code == "BACKFILL_CANCELLED"
