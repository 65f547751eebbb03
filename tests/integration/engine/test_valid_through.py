"""Steps that wait until a table is complete up to some time."""

from __future__ import annotations

import pytest

from calve.errors import NotFoundError
from support.engine_runs import EngineRuns, flow, noop

DAY = {"table": "db.t", "valid_through": "2024-01-31"}


def test_a_step_waits_until_a_table_is_complete(on_both: EngineRuns) -> None:
    asks = {"!at<long>": "params.getFromSignalDependency('0', 'valid_through');"}
    started = on_both.start(flow(noop("a", signal_dependencies=[DAY], **asks)))
    on_both.until_step(started, "a", "WAITING_FOR_SIGNALS")
    on_both.calve.publish_valid_through("db.t", "2024-01-30T23:59:59Z")
    on_both.calve.publish_valid_through("db.other", "2024-02-01")
    assert on_both.look(started).statuses["a"] == "WAITING_FOR_SIGNALS"
    found = on_both.calve.publish_valid_through("lake.db.t", "2024-01-31T06:00:00Z")
    run = on_both.finished(started)
    assert (run.status, run.steps["a"].params["at"]) == ("SUCCEEDED", found["valid_through"])


def test_what_was_said_before_counts_however_much_was_said_since(on_sqlite: EngineRuns) -> None:
    on_sqlite.calve.publish_valid_through("db.t", "2024-03-01")
    for hour in range(20):
        # Said later, and of an earlier time: it takes nothing back.
        on_sqlite.calve.publish_valid_through("db.t", f"2023-12-01T{hour:02}:00")
    assert on_sqlite.calve.valid_through("db.t")["valid_through_time"] == "2024-03-01T00:00:00.000Z"
    assert on_sqlite.run(flow(noop("a", signal_dependencies=[DAY]))).status == "SUCCEEDED"


def test_table_and_time_may_be_params(on_sqlite: EngineRuns) -> None:
    wants = {"table": "${schema}.t", "!valid_through<long>": "day"}
    on_sqlite.calve.publish_valid_through("lake.db.t", 20240131)
    started = flow(noop("a", signal_dependencies=[wants]), schema="db", day=20240131)
    assert on_sqlite.run(started).status == "SUCCEEDED"
    later = on_sqlite.start("w", day=20240201)
    on_sqlite.until_step(later, "a", "WAITING_FOR_SIGNALS")
    on_sqlite.calve.publish_valid_through("db.t", "2024-02-01")
    assert on_sqlite.finished(later).status == "SUCCEEDED"


def test_a_time_or_a_table_that_is_none_fails_the_step(on_sqlite: EngineRuns) -> None:
    for wants, code in (
        ({"table": "db.t", "valid_through": "soon"}, "VALID_THROUGH_INVALID"),
        ({"table": "t", "valid_through": "2024-01-31"}, "TABLE_NAME_INVALID"),
        ({"table": "nowhere.db.t", "valid_through": "2024-01-31"}, "CATALOG_UNKNOWN"),
    ):
        run = on_sqlite.run(flow(noop("a", signal_dependencies=[wants])))
        assert (run.status, run.code("a")) == ("FAILED", code)


def test_what_nobody_has_said_is_an_error(on_sqlite: EngineRuns) -> None:
    with pytest.raises(NotFoundError) as caught:
        on_sqlite.calve.valid_through("db.t")
    assert caught.value.code == "VALID_THROUGH_UNKNOWN"
