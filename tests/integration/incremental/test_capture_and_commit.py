"""Capture and commit steps on a real engine, with tables that PyIceberg writes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from calve.ledger.ledger import Ledger
from calve.ledger.records import Status
from calve.workflow.definition.problems import InvalidDefinitionError
from calve.workflow.params import ParamDefinition
from support.engine_runs import NO_RETRY, EngineRuns, Job, flow, noop, probe, sub
from support.ledgers import append, head, make_table, rows

TABLE = "lake.db.t"


def capture(id: str = "capture", **options: Any) -> Job:
    return {"job": {"id": id, "type": "IpCapture", "ip_capture": {"source_tables": ["db.t"], **options}}}


def commit(id: str = "commit", **options: Any) -> Job:
    return {"job": {"id": id, "type": "IpCommit", "ip_commit": {"capture_step": "capture", **options}}}


def chain(*between: Job, id: str = "w", options: dict[str, Any] | None = None, **commit_options: Any) -> Any:
    jobs = (capture(**(options or {})), *between, commit(**commit_options))
    return flow(*jobs, id=id, dag="sequential")


def location(run: Any, ledger: Ledger) -> str:
    """Where the ICDC table of a run's capture is."""
    found = ledger.get(run.steps["capture"].params["capture_id"]).changes.icdc_metadata_location
    assert found is not None
    return found


def test_each_run_captures_what_came_since_the_last_commit(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    on_both.push(chain(noop("work", seen="${capture__icdc_table}"), keep=True))
    append(source, 1, 2)
    second = append(source, 3)
    first = on_both.run("w")
    assert first.status == "SUCCEEDED"
    params = first.steps["capture"].params
    assert (params["has_changes"], params["from_snapshot_id"], params["to_snapshot_id"]) == (True, -1, second)
    assert (params["change_files"], params["change_rows"]) == (2, 3)
    assert params["row_filter"] == "TRUE"
    assert first.steps["work"].params["seen"] == params["icdc_table"]
    assert rows(location(first, ledger)) == [1, 2, 3]
    append(source, 4)
    later = on_both.run("w")
    assert rows(location(later, ledger)) == [4]
    assert later.steps["capture"].params["from_snapshot_id"] == second


def test_with_nothing_new_the_rest_is_skipped_and_nothing_stays_open(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1)
    workflow = chain(probe("work"), options={"on_empty": "skip"})
    assert on_both.run(workflow).statuses["work"] == "SUCCEEDED"
    idle = on_both.run("w")
    assert idle.status == "SUCCEEDED"
    assert idle.statuses == {"capture": "SUCCEEDED", "work": "SKIPPED", "commit": "SKIPPED"}
    assert idle.steps["capture"].params["has_changes"] is False
    assert ledger.get(idle.steps["capture"].params["capture_id"]).record.status is Status.COMMITTED


def test_a_restarted_run_has_the_same_capture_and_a_new_run_has_everything(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1)
    workflow = chain(probe("work", "${ENDING}", retry_policy=NO_RETRY), keep=True)
    workflow["Workflow"]["ENDING"] = "DONE"
    failed = on_both.run(workflow, ENDING="USER_ERROR")
    assert failed.status == "FAILED"
    append(source, 2)
    again = on_both.rerun(failed)
    assert again.status == "FAILED"
    assert again.steps["capture"].params["capture_id"] == failed.steps["capture"].params["capture_id"]
    assert rows(location(again, ledger)) == [1]
    fresh = on_both.run(workflow)
    assert fresh.status == "SUCCEEDED"
    assert rows(location(fresh, ledger)) == [1, 2]
    old = ledger.get(failed.steps["capture"].params["capture_id"]).record
    assert old.status is Status.RELEASED


def test_a_run_whose_capture_another_run_has_taken_cannot_commit_it(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1)
    workflow = chain(probe("work", "${ENDING}", retry_policy=NO_RETRY))
    workflow["Workflow"]["ENDING"] = "DONE"
    failed = on_both.run(workflow, ENDING="USER_ERROR")
    assert on_both.run("w").status == "SUCCEEDED"
    again = on_both.rerun(failed, params={"ENDING": ParamDefinition.infer("ENDING", "DONE")})
    assert again.status == "FAILED"
    assert again.code("commit") == "CAPTURE_RELEASED"
    assert ledger.checkpoints()[0].position.chain.frontier == head(source)


def test_several_sources_are_maps_by_alias_and_commit_together(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    other = make_table(ledger, "db.u")
    append(source, 5, 7)
    append(other, 2, 9)
    sources = ["db.t", {"table": "db.u", "alias": "second"}]
    options = {"source_tables": sources, "capture_mode": "BOTH", "range_columns": ["id"]}
    run = on_both.run(chain(noop("work"), options=options, keep=True))
    assert run.status == "SUCCEEDED"
    params = run.steps["capture"].params
    assert sorted(params["icdc_table"]) == ["second", "t"]
    assert params["to_snapshot_id"] == {"t": str(head(source)), "second": str(head(other))}
    assert (params["range_lower"], params["range_upper"], params["range_exactness"]) == (2, 9, "exact")
    assert params["range_lowers"] == {"t.id": "5", "second.id": "2"}
    assert {x.position.table_name for x in ledger.checkpoints()} == {"lake.db.t", "lake.db.u"}


def test_the_range_is_that_of_all_sources_also_under_other_names(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    catalog = ledger.lake.catalog("lake")
    other = catalog.create_table("db.u", schema=pa.schema([("number", pa.int64())]))
    append(source, 5, 7)
    other.append(pa.table({"number": [3, 4]}))
    sources = [
        {"table": "db.t", "range_columns": ["id"]},
        {"table": "db.u", "range_columns": ["number"]},
    ]
    run = on_both.run(chain(options={"source_tables": sources, "capture_mode": "RANGE"}))
    params = run.steps["capture"].params
    assert (params["range_lower"], params["range_upper"]) == (3, 7)
    assert "icdc_table" not in params


def test_a_commit_publishes_up_to_when_its_tables_are_complete(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    make_table(ledger, "db.target")
    append(source, 1)
    run = on_both.run(chain(tables=["db.target"], valid_through="2024-01-31T06:00:00Z"))
    assert run.status == "SUCCEEDED"
    waiting = flow(
        {
            "job": {
                "id": "waits",
                "type": "NoOp",
                "signal_dependencies": [{"table": "db.target", "valid_through": "2024-01-31"}],
            }
        },
        id="downstream",
    )
    assert on_both.run(waiting).status == "SUCCEEDED"


def test_limits_leave_the_rest_to_the_next_run(on_both: EngineRuns, ledger: Ledger, source: Table) -> None:
    for number in range(1, 4):
        append(source, number, number + 10)
    workflow = chain(noop("work"), options={"max_rows": 4}, keep=True)
    assert rows(location(on_both.run(workflow), ledger)) == [1, 2, 11, 12]
    assert rows(location(on_both.run("w"), ledger)) == [3, 13]


def test_the_start_counts_for_the_first_capture_only(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1)
    workflow = chain(noop("work"), options={"start_from": "latest"}, keep=True)
    assert on_both.run(workflow).steps["capture"].params["has_changes"] is False
    append(source, 2)
    assert rows(location(on_both.run("w"), ledger)) == [2]


def test_the_capture_of_a_parent_is_committed_after_its_subworkflow(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1)
    on_both.push(flow(noop("inner", seen="${SOURCE_TABLE}"), id="business", SOURCE_TABLE="db.t"))
    work = sub("work", "business", SOURCE_TABLE="${capture__icdc_table}")
    run = on_both.run(chain(work))
    assert run.status == "SUCCEEDED"
    (child,) = on_both.children(run, "work")
    assert child.steps["inner"].params["seen"] == run.steps["capture"].params["icdc_table"]


def test_the_name_of_the_note_is_the_same_step(on_both: EngineRuns, ledger: Ledger, source: Table) -> None:
    append(source, 1, 2)
    steps = [
        {"name": "capture", "type": "ICDC", "sourceTable": "db.t", "targetTable": "db.t_icdc"},
        {"name": "work", "type": "NoOp", "dependsOn": ["capture"], "seen": "${capture__icdc_table}"},
    ]
    run = on_both.run({"Workflow": {"id": "w", "steps": steps}})
    assert run.status == "SUCCEEDED"
    assert run.steps["work"].params["seen"] == "lake.db.t_icdc"
    assert run.statuses["commit_capture"] == "SUCCEEDED"
    assert not ledger.lake.catalog("lake").table_exists("db.t_icdc")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"source_tables": ["db.missing"]}, "TABLE_NOT_FOUND"),
        ({"source_tables": [{"table": "db.t", "branch": "gone"}]}, "BRANCH_NOT_FOUND"),
        ({"capture_mode": "RANGE", "range_columns": ["nothing"]}, "RANGE_COLUMN_NOT_FOUND"),
        ({"source_tables": ["db.t", "db.t"]}, "TABLE_NAMED_TWICE"),
        ({"consumer": "${EMPTY}"}, "CONSUMER_NAME_INVALID"),
    ],
)
def test_a_wrong_source_fails_the_step_at_once_and_moves_nothing(
    on_sqlite: EngineRuns, options: dict[str, Any], code: str
) -> None:
    from calve.steps.incremental.shared import close_ledgers, ledger_of

    ledger = ledger_of(on_sqlite.settings)
    append(make_table(ledger), 1)
    workflow = chain(noop("work"), options=options)
    workflow["Workflow"]["EMPTY"] = " "
    run = on_sqlite.run(workflow)
    assert run.status == "FAILED"
    assert run.code("capture") == code
    assert [attempt.id for attempt in run.attempts["capture"]] == [1]
    assert ledger.checkpoints() == []
    close_ledgers()


def test_two_workflows_cannot_be_one_consumer(on_both: EngineRuns, ledger: Ledger, source: Table) -> None:
    append(source, 1)
    assert on_both.run(chain(options={"consumer": "shared"})).status == "SUCCEEDED"
    other = on_both.run(chain(id="other", options={"consumer": "shared"}))
    assert other.code("capture") == "CONSUMER_TAKEN"


def test_a_commit_without_a_capture_says_what_is_missing(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1)
    jobs = (noop("first", go=False), capture(), commit())
    run = on_both.run(flow(*jobs, dag={"first": ["IF go THEN capture", "OTHERWISE commit"]}))
    assert run.code("commit") == "CAPTURE_NOT_TAKEN"
    assert ledger.checkpoints() == []


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ([capture(), commit(capture_step="captur")], "did you mean 'capture'"),
        ([commit()], "no step of the workflow is an IpCapture"),
        ([capture(capture_mode="RANGE"), commit()], "needs range_columns"),
        ([capture(data_operation=["append"]), commit()], "did you mean 'data_operations'"),
        ([capture(consumer="x"), capture("other", consumer="x"), commit()], "have one consumer name"),
        ([capture(max_files=0), commit()], "max_files"),
        ([capture(compare_lookback="two weeks"), commit()], "compare_lookback"),
    ],
)
def test_what_is_wrong_is_said_at_push(on_sqlite: EngineRuns, jobs: list[Job], words: str) -> None:
    with pytest.raises(InvalidDefinitionError) as refused:
        on_sqlite.push(flow(*jobs, dag="sequential"))
    assert words in str(refused.value)


def test_what_the_run_saved_is_told(on_both: EngineRuns, ledger: Ledger, source: Table) -> None:
    append(source, 1)
    run = on_both.run(chain(options={"compare_lookback": "14d"}))
    assert run.status == "SUCCEEDED"
    shown = run.steps["capture"].artifacts["capture"]["lookback"]
    assert shown["window"] == "14d"
    assert "partitioned" in shown["unknown"]
