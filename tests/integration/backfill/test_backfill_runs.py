"""A backfill through a chain with a diamond, on a real Spark, from plan to publish."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from calve.errors import CalveError
from calve.lake import open_table
from support.backfill_pipeline import Pipeline, day, pipeline

pytestmark = [pytest.mark.jvm, pytest.mark.slow]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    with pipeline(tmp_path_factory.mktemp("pipeline")) as made:
        yield made


@pytest.fixture
def pipe(shared: Pipeline) -> Pipeline:
    """The tables anew, four days in them, and all of it processed."""
    shared.make()
    for number in range(4):
        shared.add(*((number, key, "ab"[key % 2], 10 * key) for key in range(1, 4)))
    shared.run_all()
    shared.check()
    return shared


def branches(pipe: Pipeline, name: str) -> set[str]:
    return set(open_table(pipe.ledger.lake, f"db.{name}").metadata.refs()) - {"main"}


def lag(pipe: Pipeline) -> dict[str, int]:
    found = [behind.to_json() for behind in pipe.ledger.lag()]
    return {x["consumer"]: x["snapshots"] for x in found if x["snapshots"]}


def test_changed_logic_reaches_all_tables_downstream_once(pipe: Pipeline) -> None:
    pipe.push(factor=3)
    planned = pipe.plan(0, 4, keys={"db.daily": ["day", "id"]})
    before = pipe.heads()
    pipe.backfills.start(planned, "ada")
    found = pipe.finish(planned)
    assert [stage["workflow_id"] for stage in found["stages"]] == ["daily", "by_account", "by_day", "summary"]
    assert found["stages"][0]["total"] == 4
    pipe.check(factor=3)
    assert all(head != before[name] for name, head in pipe.heads().items())
    assert not any(branches(pipe, name) for name in before)
    # Nothing is left for the regular runs: what was published is accounted for.
    assert lag(pipe) == {}
    pipe.add((2, 9, "a", 5))
    pipe.run_all()
    pipe.check(factor=3)
    report = pipe.backfills.report(planned)
    assert "Validation of `lake.db.daily`" in report
    assert day(0) in report


def test_a_main_that_moves_meanwhile_loses_nothing(pipe: Pipeline) -> None:
    pipe.push(factor=2)
    planned = pipe.plan(0, 3, auto_publish=False, concurrency=1)
    pipe.backfills.start(planned, "ada")
    waiting = pipe.until_waiting(planned)
    assert waiting["stages"][0]["phase"] == "WAITING"
    # Day 1 is in the range, day 3 is not; regular runs go on beside the backfill, with the new logic.
    pipe.add((1, 7, "c", 4), (3, 7, "c", 4), (1, 1, "a", 99))
    pipe.run("daily")
    pipe.backfills.approve(planned, later_too=True)
    found = pipe.finish(planned)
    first = found["stages"][0]
    assert first["round"] == 2
    assert sorted(x["from"] for x in first["chunk_list"] if x["round"] == 2) == [day(1)]
    pipe.run_all()
    # All of day 3 but what came late was made by the old logic.
    newest = [row for row in pipe.events if row[0] == day(3) and row[1] != 7]
    pipe.add(*((3, key, account, secs) for _, key, account, secs in newest))
    pipe.run_all()
    pipe.check(factor=2)


def test_failed_chunks_alone_are_retried_and_a_cancelled_backfill_changes_nothing(pipe: Pipeline) -> None:
    before, rows = pipe.heads(), pipe.rows("daily")
    pipe.add((1, 5, "trouble", 1))
    pipe.run_all()
    before, rows = pipe.heads(), pipe.rows("daily")
    pipe.push_failing("trouble")
    planned = pipe.plan(0, 3, auto_publish=False, downstream=["none"], concurrency=1, order="oldest")
    pipe.backfills.start(planned, "ada")
    failed = pipe.finish(planned, "FAILED")
    statuses = {x["from"]: x["status"] for x in failed["stages"][0]["chunk_list"]}
    assert statuses == {day(0): "SUCCEEDED", day(1): "FAILED", day(2): "SUCCEEDED"}
    with pytest.raises(CalveError) as caught:
        pipe.backfills.start(planned, "ada")
    assert caught.value.code == "BACKFILL_FAILED"
    pipe.sql("CREATE TABLE IF NOT EXISTS db.mended (x INT) USING iceberg; INSERT INTO db.mended VALUES (1)")
    pipe.backfills.retry(planned, "ada")
    waiting = pipe.until_waiting(planned)
    runs = {x["from"]: x["instance_id"] for x in waiting["stages"][0]["chunk_list"]}
    assert runs == {x["from"]: x["instance_id"] for x in failed["stages"][0]["chunk_list"]}
    assert pipe.heads() == before
    pipe.backfills.cancel(planned, "ada")
    assert branches(pipe, "daily")
    assert pipe.backfills.discard(planned)
    assert not branches(pipe, "daily")
    assert (pipe.heads(), pipe.rows("daily")) == (before, rows)
