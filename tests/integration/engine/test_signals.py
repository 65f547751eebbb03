"""Signals between steps and workflows, and what time starts: end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from calve.engine.signals import sending
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import runs, signals, time_triggers
from support.engine_runs import AUTHOR, EngineRuns, Run, engine_runs, flow, noop, probe

DAY = {"name": "db/table", "match_params": {"day": {"value": 20240101, "operator": "="}}}


def send(calve: EngineRuns, name: str, **params: str | int) -> Any:
    """Send a signal."""
    return calve.calve.send_signal(name, params, {}, None)


def triggered(calve: EngineRuns, workflow_id: str, count: int) -> list[Run]:
    """The runs of a workflow once so many of them are over."""

    def look() -> list[Run] | None:
        found = [calve.look(row.id) for row in calve.rows(runs) if row.workflow_id == workflow_id]
        return found if len([run for run in found if run.status == "SUCCEEDED"]) >= count else None

    return calve.until(look, lambda: f"{[row.status for row in calve.rows(runs)]}")


def test_a_step_waits_for_a_signal_that_matches(on_both: EngineRuns) -> None:
    asks = {"!hour<long>": "params.getFromSignalDependency('0', 'hour');"}
    started = on_both.start(flow(noop("a", signal_dependencies=[DAY], **asks)))
    on_both.until_step(started, "a", "WAITING_FOR_SIGNALS")
    send(on_both, "db/other", day=20240101)
    send(on_both, "db/table", day=20240102, hour=1)
    assert on_both.run(flow(noop("b"), id="other")).status == "SUCCEEDED"
    assert on_both.look(started).statuses == {"a": "WAITING_FOR_SIGNALS"}
    send(on_both, "db/table", day=20240101, hour=7)
    run = on_both.finished(started)
    assert run.status == "SUCCEEDED"
    assert run.steps["a"].params["hour"] == 7


def test_a_signal_that_came_before_satisfies_too(on_sqlite: EngineRuns) -> None:
    send(on_sqlite, "db/table", day=20240101)
    assert on_sqlite.run(flow(noop("a", signal_dependencies=[DAY]))).status == "SUCCEEDED"


def test_a_step_waits_for_all_its_signals_and_keeps_those_that_came(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(flow(noop("a", signal_dependencies=["one", "two"])))
    on_sqlite.until_step(started, "a", "WAITING_FOR_SIGNALS")
    send(on_sqlite, "one")
    on_sqlite.engine.stop()
    on_sqlite.start_engine()
    send(on_sqlite, "two")
    assert on_sqlite.finished(started).status == "SUCCEEDED"


def test_a_match_may_use_params_of_the_workflow(on_sqlite: EngineRuns) -> None:
    wants = {"name": "db/table", "match_params": {"!day<long>": "day;"}}
    started = on_sqlite.start(flow(noop("a", signal_dependencies=[wants]), day=0), day=5)
    on_sqlite.until_step(started, "a", "WAITING_FOR_SIGNALS")
    send(on_sqlite, "db/table", day=0)
    send(on_sqlite, "db/table", day=5)
    assert on_sqlite.finished(started).status == "SUCCEEDED"


def test_waiting_can_be_bypassed_and_stopped(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("a", signal_dependencies=["never"]), run_strategy=2))
    bypassed, stopped = on_sqlite.start("w"), on_sqlite.start("w")
    for one in (bypassed, stopped):
        on_sqlite.until_step(one, "a", "WAITING_FOR_SIGNALS")
    on_sqlite.act("STEP_BYPASS", bypassed, "a")
    on_sqlite.end(stopped)
    assert on_sqlite.finished(bypassed).status == "SUCCEEDED"
    assert on_sqlite.finished(stopped).statuses == {"a": "STOPPED"}


def test_signals_that_a_step_sends_start_other_workflows(on_both: EngineRuns) -> None:
    on_both.push(
        flow(
            noop("b", expr__said="params.getFromSignal('db/out', 'rows');"),
            id="down",
            trigger={"signal": "db/out"},
        )
    )
    out = [{"name": "db/out", "params": {"rows": "${rows}"}, "payload": {"by": "$who"}}]
    run = on_both.run(flow(probe("a", send="dynamic", rows="7", signal_outputs=out), id="up", who="me"))
    (down,) = triggered(on_both, "down", 1)
    assert down.steps["b"].params["said"] == "7"
    assert down.initiator["type"] == "SIGNAL"
    sent = {row.name: row for row in on_both.rows(signals)}
    assert set(sent) == {"db/out", "dynamic"}
    assert f'"workflow_instance_id":{run.instance_id}' in sent["db/out"].source


def test_a_failed_step_sends_nothing(on_sqlite: EngineRuns) -> None:
    on_sqlite.run(flow(probe("a", "FATAL_ERROR", signal_outputs=[{"name": "db/out"}])))
    assert on_sqlite.rows(signals) == []


def test_an_output_signal_that_cannot_be_made_is_an_internal_failure(on_sqlite: EngineRuns) -> None:
    bad = noop("a", signal_outputs=[{"name": "db/out", "params": {"x": "${nobody}"}}])
    run = on_sqlite.run(flow(bad, noop("b")))
    assert run.statuses == {"a": "INTERNALLY_FAILED", "b": "SUCCEEDED"}
    assert on_sqlite.rows(signals) == []


def test_a_trigger_joins_signals_by_their_keys(on_both: EngineRuns) -> None:
    definitions = {
        "db/a": {"match_params": {"kind": {"value": "full", "operator": "="}}, "join_keys": ["day"]},
        "db/b": {"join_keys": ["date"]},
    }
    on_both.push(flow(noop("x"), trigger={"signal": {"definitions": definitions}}, run_strategy=5))
    send(on_both, "db/a", day=1, kind="part")
    send(on_both, "db/b", date=1)
    send(on_both, "db/a", day=2, kind="full")
    send(on_both, "db/b", date=3)
    send(on_both, "db/b", date=2)
    found = triggered(on_both, "w", 1)
    assert len(found) == 1
    assert found[0].initiator["params"] == {"db/a": {"day": 2, "kind": "full"}, "db/b": {"date": 2}}


@pytest.mark.parametrize("rests", ["deactivated", "paused"])
def test_a_workflow_that_rests_is_not_run_by_signals(on_sqlite: EngineRuns, rests: str) -> None:
    on_sqlite.push(flow(noop("x"), trigger={"signal": "go"}))
    on_sqlite.push(flow(noop("x"), id="other", trigger={"signal": "go"}))
    if rests == "deactivated":
        on_sqlite.calve.deactivate("w", AUTHOR)
    else:
        on_sqlite.calve.pause("w", AUTHOR)
    send(on_sqlite, "go", n=1)
    triggered(on_sqlite, "other", 1)
    found = [row.status for row in on_sqlite.rows(runs) if row.workflow_id == "w"]
    assert found == ([] if rests == "deactivated" else ["CREATED"])


def test_cron_catches_up_what_was_missed(on_both: EngineRuns) -> None:
    cron = {"cron": "*/5 * * * *", "timezone": "Europe/Berlin"}
    on_both.engine.stop()
    on_both.push(flow(noop("x"), trigger=cron, run_strategy=20))
    back = now_ms() - 16 * 60_000
    with on_both.database.write() as connection:
        connection.execute(update(time_triggers).values(watermark_at=back, next_at=back + 1))
    on_both.start_engine()
    found = triggered(on_both, "w", 3)
    times = [run.params["RUN_TS"] for run in found]
    assert len(times) in (3, 4)
    assert all(time % 300_000 == 0 and back < time <= now_ms() for time in times)
    assert times == sorted(set(times))
    assert {run.initiator["timezone"] for run in found} == {"Europe/Berlin"}


def test_a_firing_that_is_due_starts_while_the_engine_runs(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("x"), trigger={"cron": "*/5 * * * *"}, run_strategy=20))
    on_sqlite.run(flow(noop("x"), id="other"))
    soon = now_ms()
    with on_sqlite.database.write() as connection:
        connection.execute(update(time_triggers).values(watermark_at=soon - 6 * 60_000, next_at=soon + 500))
    # A push makes the engine look at the times again.
    on_sqlite.push(flow(noop("x"), id="another", trigger={"cron": "0 0 1 1 *"}))
    assert triggered(on_sqlite, "w", 1)


def test_a_trigger_whose_start_is_refused_stops_no_other(on_sqlite: EngineRuns) -> None:
    on_sqlite.push(flow(noop("x"), id="bad", trigger={"signal": "go"}, where="${nobody}"))
    on_sqlite.push(flow(noop("x"), id="good", trigger={"signal": "go"}))
    send(on_sqlite, "go")
    assert triggered(on_sqlite, "good", 1)
    assert [row for row in on_sqlite.rows(runs) if row.workflow_id == "bad"] == []


@pytest.mark.slow
def test_a_signal_that_is_committed_after_a_later_one_is_seen_too(home: Path, postgres_url: str) -> None:
    database = Database(postgres_url)
    with engine_runs(home, database) as calve:
        started = calve.start(flow(noop("a", signal_dependencies=["late"])))
        calve.until_step(started, "a", "WAITING_FOR_SIGNALS")
        with database.write() as connection:
            sending.send(connection, "late", {}, {}, None, None, now_ms())
            send(calve, "early")
            other = flow(noop("b", signal_dependencies=["early"]), id="other")
            assert calve.run(other).status == "SUCCEEDED"
        assert calve.finished(started).status == "SUCCEEDED"
    database.close()
