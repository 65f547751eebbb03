"""A backfill through a chain with a diamond, on a real Spark, from plan to publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from calve.errors import CalveError
from calve.lake import open_table
from calve.lake.branches import drop_branch
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


@pytest.fixture
def first(shared: Pipeline) -> Pipeline:
    """The same with the first table alone."""
    shared.make()
    for number in range(3):
        shared.add(*((number, key, "ab"[key % 2], 10 * key) for key in range(1, 4)))
    shared.run("daily")
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
    pipe.check(factor=2, days_to_check=3)
    assert (day(3), 7, "c", 8) in pipe.rows("daily")
    assert lag(pipe) == {}


def test_failed_chunks_alone_are_retried_and_a_cancelled_backfill_changes_nothing(pipe: Pipeline) -> None:
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


def test_days_that_upstream_repopulated_are_made_anew(first: Pipeline) -> None:
    first.sql(
        f"INSERT OVERWRITE db.events PARTITION (day = DATE '{day(1)}') VALUES (1, 'z', 1, 0), (8, 'z', 8, 0)"
    )
    first.run("daily")
    # A capture of appended rows passes over it.
    assert (day(1), 2, "a", 20) in first.rows("daily")
    planned = first.plan(1, 2, downstream=["none"])
    first.backfills.start(planned, "ada")
    first.finish(planned)
    found = first.rows("daily")
    assert [row for row in found if row[0] == day(1)] == [(day(1), 1, "z", 1), (day(1), 8, "z", 8)]
    assert len(found) == 8


def test_a_new_metric_is_filled_for_history(first: Pipeline) -> None:
    first.sql("ALTER TABLE db.daily ADD COLUMN is_long BOOLEAN")
    first.push_daily("secs > 15 AS is_long")
    same = "SELECT (SELECT sum(secs) FROM ${branch_table}) = (SELECT sum(secs) FROM ${main_table})"
    planned = first.plan(0, 2, downstream=["none"], audits={"same": same}, chunk="whole")
    first.backfills.start(planned, "ada")
    found = first.finish(planned)
    assert found["stages"][0]["validation"]["lake.db.daily"]["audits"][0]["passed"]
    metrics = {(row[0], row[1]): row[4] for row in first.rows("daily")}
    expected = {(day(n), key): None if n == 2 else key > 1 for n in range(3) for key in range(1, 4)}
    assert metrics == expected


def test_data_that_was_missed_is_found_and_an_audit_that_fails_publishes_nothing(first: Pipeline) -> None:
    first.add((1, 7, "late", 70))
    first.ledger.set_checkpoint("db.events", consumer="daily/capture", snapshot="latest")
    first.run("daily")
    before = first.rows("daily")
    assert (day(1), 7, "late", 70) not in before
    wrong = first.plan(1, 2, downstream=["none"], audits={"never": "SELECT false"})
    first.backfills.start(wrong, "ada")
    assert first.finish(wrong, "FAILED")["stages"][0]["phase"] == "VALIDATING"
    assert first.rows("daily") == before
    first.backfills.cancel(wrong, "ada")
    planned = first.plan(1, 2, downstream=["none"])
    first.backfills.start(planned, "ada")
    first.finish(planned)
    assert first.rows("daily") == sorted([*before, (day(1), 7, "late", 70)])


def test_what_somebody_changed_by_hand_is_not_published(first: Pipeline) -> None:
    before = first.heads()

    def refused(code: str, spoil: Callable[[], object]) -> None:
        planned = first.plan(0, 1, downstream=["none"], auto_publish=False)
        first.backfills.start(planned, "ada")
        first.until_waiting(planned)
        spoil()
        first.backfills.approve(planned)
        found = first.finish(planned, "FAILED")
        assert code in str(first.trouble(found))
        assert first.heads() == before
        first.backfills.cancel(planned, "ada")

    def drop() -> None:
        (branch,) = branches(first, "daily")
        drop_branch(open_table(first.ledger.lake, "db.daily"), branch)

    refused("BRANCH_LOST", drop)
    refused("PLAN_STALE", lambda: first.sql("ALTER TABLE db.daily ADD COLUMN more STRING"))
