"""Chunks of a backfill on a real engine: their scope decides what is captured and what is told."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.table import Table

from calve.engine.model.requests import RestartPolicy
from calve.engine.triggers.tables.looking import Looker
from calve.lake import open_table
from calve.lake.model import Segment
from calve.ledger.extents import Extent
from calve.ledger.holds import put_hold, settle_hold
from calve.ledger.ledger import Ledger
from calve.ledger.records import Status
from calve.state.orchestration import signals
from calve.steps.incremental.backfilling import BackfillScope, SourceNet, SourceRange
from support.engine_runs import NO_RETRY, EngineRuns, Job, Run, flow, foreach, noop, probe, sub
from support.ledgers import added, append, head, make_table, rows
from support.table_triggers import instances, until_over

TABLE = "lake.db.t"
REGULAR = "w/capture"


def scope(extents: dict[str, Extent], branch: str | None = "backfill_7") -> dict[str, Any]:
    """What starts an instance as a chunk."""
    found = BackfillScope(7, 0, 3, 1, branch, ("lake.db.target",), extents)
    assert BackfillScope.from_json(found.to_json()) == found
    return {"initiator": found.initiator()}


def ids(table: Table, lower: int | None, upper: int | None) -> Extent:
    return SourceRange("id", lower, upper, head(table))


def capture(id: str = "capture", **options: Any) -> Job:
    return {"job": {"id": id, "type": "IpCapture", "ip_capture": {"source_tables": ["db.t"], **options}}}


def commit(**options: Any) -> Job:
    return {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"capture_step": "capture", **options}}}


def chain(*between: Job, options: dict[str, Any] | None = None, **commit_options: Any) -> Any:
    return flow(capture(**(options or {})), *between, commit(**commit_options), dag="sequential")


def told(run: Run) -> Any:
    return run.steps["capture"].artifacts["capture"]


def test_a_chunk_captures_its_range_and_leaves_the_regular_consumer_where_it_is(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1, 2)
    append(source, 3, 4)
    workflow = chain(noop("work", seen="${capture__icdc_table}"), keep=True)
    assert on_both.run(workflow).status == "SUCCEEDED"
    before = ledger.checkpoints()
    append(source, 5, 9)
    chunk = on_both.run("w", scope({TABLE: ids(source, 2, 4)}))
    assert chunk.status == "SUCCEEDED"
    assert chunk.initiator["type"] == "BACKFILL"
    params = chunk.steps["capture"].params
    taken = ledger.get(params["capture_id"])
    assert taken.consumer == "backfill-7/0/3.1/capture"
    assert added(taken.changes) == [1, 2, 3, 4]
    assert taken.record.status is Status.COMMITTED
    # Files hold rows besides those of the range, so steps read a view of these.
    assert params["icdc_table"].startswith("calve_rows_")
    assert params["row_filter"] == taken.row_filter
    assert chunk.steps["work"].params["seen"] == told(chunk)["icdc_table"] == params["icdc_table"]
    assert told(chunk)["views"] == {
        params["icdc_table"]: f"SELECT * FROM {taken.icdc_table} WHERE {taken.row_filter}"
    }
    assert ledger.checkpoints() == before
    assert ledger.accounted_up_to(REGULAR, "db.t") == before[0].position.chain.frontier
    later = on_both.run("w")
    assert rows(ledger.get(later.steps["capture"].params["capture_id"]).icdc_metadata_location) == [5, 9]


def test_without_rows_beyond_the_range_the_table_itself_is_read(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1, 2)
    append(source, 7, 8)
    run = on_both.run(chain(noop("work"), keep=True), scope({TABLE: ids(source, 7, 9)}))
    found = ledger.get(run.steps["capture"].params["capture_id"])
    assert run.steps["capture"].params["icdc_table"] == found.icdc_table
    assert told(run)["views"] == {}
    assert added(found.changes) == [7, 8]


def test_a_restarted_chunk_has_the_same_capture_and_the_same_view(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1, 2, 3)
    workflow = chain(probe("work", "USER_ERROR", "DONE", retry_policy=NO_RETRY))
    failed = on_both.run(workflow, scope({TABLE: ids(source, 2, None)}))
    assert failed.status == "FAILED"
    append(source, 4)
    first = failed.steps["capture"].params
    again = on_both.rerun(failed, policy=RestartPolicy.RESTART_FROM_BEGINNING)
    assert again.initiator["backfill"] == failed.initiator["backfill"]
    now = again.steps["capture"].params
    assert (now["capture_id"], now["icdc_table"]) == (first["capture_id"], first["icdc_table"])


def test_what_changed_between_two_snapshots_is_captured_whatever_the_workflow_captures_else(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    first = append(source, 1, 2)
    append(source, 3)
    source.refresh().delete("id = 1")
    extents: dict[str, Extent] = {TABLE: SourceNet(first, head(source))}
    run = on_both.run(chain(noop("work"), keep=True), scope(extents))
    assert run.status == "SUCCEEDED"
    params = run.steps["capture"].params
    assert (params["from_snapshot_id"], params["to_snapshot_id"]) == (first, head(source))
    assert "removed_table" in params
    assert added(ledger.get(params["capture_id"]).changes) == [2, 3]


def test_a_table_that_the_plan_does_not_have_is_refused(on_both: EngineRuns, source: Table) -> None:
    append(source, 1)
    run = on_both.run(chain(noop("work")), scope({"lake.db.other": SourceNet(None, 1)}))
    assert run.code("capture") == "BACKFILL_SOURCE_UNPLANNED"


def test_a_chunk_without_a_scope_is_refused(on_both: EngineRuns, source: Table) -> None:
    append(source, 1)
    run = on_both.run(chain(noop("work")), {"initiator": {"type": "BACKFILL"}})
    assert run.code("capture") == "BACKFILL_SCOPE_INVALID"


def test_several_sources_have_a_view_each_and_ranges_end_with_the_chunk(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    other = make_table(ledger, "db.u")
    append(source, 1, 2, 3)
    append(other, 2, 3, 4)
    options = {
        "source_tables": ["db.t", {"table": "db.u", "alias": "second"}],
        "capture_mode": "BOTH",
        "range_columns": ["id"],
    }
    extents = {TABLE: ids(source, 2, 3), "lake.db.u": ids(other, 3, 4)}
    run = on_both.run(chain(noop("work"), options=options), scope(extents))
    assert run.status == "SUCCEEDED"
    params = run.steps["capture"].params
    assert set(params["icdc_table"].values()) == set(told(run)["views"])
    assert len(told(run)["views"]) == 2
    assert [x["icdc_table"] for x in told(run)["sources"]] == list(params["icdc_table"].values())
    assert (params["range_lower"], params["range_upper"]) == (2, 3)


def test_an_empty_chunk_skips_the_rest_if_the_workflow_says_so(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1)
    run = on_both.run(chain(probe("work"), options={"on_empty": "skip"}), scope({TABLE: ids(source, 5, 9)}))
    assert run.statuses == {"capture": "SUCCEEDED", "work": "SKIPPED", "commit": "SKIPPED"}
    assert ledger.checkpoints() == []


def test_a_fixed_name_stays_with_the_regular_runs(on_both: EngineRuns, ledger: Ledger, source: Table) -> None:
    append(source, 1)
    workflow = chain(probe("work", "${ENDING}", retry_policy=NO_RETRY), options={"icdc_name": "db.change"})
    workflow["Workflow"]["ENDING"] = "USER_ERROR"
    regular = on_both.run(workflow)
    assert regular.steps["capture"].params["icdc_table"] == "lake.db.change"
    before = open_table(ledger.lake, "db.change").metadata.metadata_location
    chunk = on_both.run("w", scope({TABLE: ids(source, None, None)}), ENDING="DONE")
    assert chunk.status == "SUCCEEDED"
    own = chunk.steps["capture"].params["icdc_table"]
    assert own != "lake.db.change"
    assert told(chunk)["names"] == {"db.change": own}
    assert open_table(ledger.lake, "db.change").metadata.metadata_location == before


@pytest.mark.parametrize("branch", ["backfill_7", None])
def test_only_what_is_visible_is_told_by_signals(
    on_both: EngineRuns, ledger: Ledger, source: Table, branch: str | None
) -> None:
    make_table(ledger, "db.target")
    append(source, 1)
    workflow = chain(noop("work"), tables=["db.target"], valid_through="2024-01-31")
    run = on_both.run(workflow, scope({TABLE: ids(source, None, None)}, branch))
    assert run.status == "SUCCEEDED"
    sent = {row.name for row in on_both.rows(signals)}
    visible = {"table:lake.db.target", "valid_through:lake.db.target"}
    assert sent == (set() if branch else visible)


def test_loops_and_subworkflows_of_a_chunk_find_its_scope(
    on_both: EngineRuns, ledger: Ledger, source: Table
) -> None:
    append(source, 1, 2, 3)
    said = 'echo $CALVE_BACKFILL $CALVE_BRANCH > "$CALVE_HOME/said-$CALVE_PARAM_day"'
    shell = {"job": {"id": "say", "type": "Shell", "script": said.replace("$", "$$"), "day": "${n}"}}
    on_both.push(flow(capture(), commit(), id="inner", dag="sequential"))
    workflow = flow(
        sub("work", "inner"), foreach("days", {"n": ["a", "b"]}, shell), id="outer", dag="sequential"
    )
    run = on_both.run(workflow, scope({TABLE: ids(source, 2, 3)}))
    assert run.status == "SUCCEEDED", run.steps
    (inner,) = on_both.children(run, "work")
    assert ledger.get(inner.steps["capture"].params["capture_id"]).consumer == "backfill-7/0/3.1/capture"
    assert ledger.checkpoints() == []
    for name in ("a", "b"):
        assert (on_both.settings.home / f"said-{name}").read_text() == "7 backfill_7\n"


def test_a_held_stretch_starts_no_run(on_both: EngineRuns, ledger: Ledger, source: Table) -> None:
    uuid = str(source.metadata.table_uuid)
    looker = Looker(on_both.settings, on_both.database)
    workflow = chain(noop("work"))
    workflow["Trigger"] = {"incremental": True}
    on_both.push(workflow)
    first = append(source, 1)
    looker.look()
    until_over(on_both, 1)
    with ledger.database.write() as connection:
        put_hold(connection, REGULAR, uuid, "main", 7, first)
    published = append(source, 2)

    def count() -> int:
        looker.look()
        return len(instances(on_both))

    assert count() == 1
    metadata = open_table(ledger.lake, "db.t").metadata
    with ledger.database.write() as connection:
        assert settle_hold(connection, REGULAR, uuid, "main", 7, Segment(first, published), metadata)
    assert count() == 1
    append(source, 3)
    assert count() == 2
