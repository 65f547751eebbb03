"""Workflows that are started by changes of tables: real tables, a real engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table

from calve.engine.triggers.tables import looking
from calve.engine.triggers.tables.decision import What
from calve.engine.triggers.tables.watcher import TableWatcher
from calve.ledger.ledger import Ledger
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import events, incremental_triggers
from calve.workflow.definition.properties import Properties
from support.engine_runs import NO_RETRY, EngineRuns, engine_runs, flow, noop, probe
from support.ledgers import append, head, make_table
from support.states import place_state
from support.table_triggers import (
    COMMIT,
    OFTEN,
    RARELY,
    capture,
    decision,
    instances,
    ledger_of,
    until_decided,
    until_over,
)

pytestmark = pytest.mark.slow

ON_T = {"incremental": "db.t"}


@pytest.fixture
def calve(home: Path, _probe_type: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineRuns]:
    """An engine that looks at tables many times a second."""
    monkeypatch.setenv("CALVE_ENGINE__TABLE_POLL", OFTEN)
    database = Database(place_state(home))
    with engine_runs(home, database) as made:
        yield made
    database.close()


@pytest.fixture
def anywhere(
    home: Path, _probe_type: None, monkeypatch: pytest.MonkeyPatch, engine_db: Database
) -> Iterator[EngineRuns]:
    """The same on each kind of database."""
    monkeypatch.setenv("CALVE_ENGINE__TABLE_POLL", OFTEN)
    with engine_runs(home, engine_db) as made:
        made.settings = made.settings.model_copy(update={"state_url": engine_db.url})
        made.engine.stop()
        made.start_engine()
        yield made


@pytest.fixture
def ledger(calve: EngineRuns) -> Iterator[Ledger]:
    with ledger_of(calve) as made:
        yield made


@pytest.fixture
def table(ledger: Ledger) -> Table:
    return make_table(ledger)


def test_a_change_starts_a_run_that_captures_it(anywhere: EngineRuns) -> None:
    calve = anywhere
    with ledger_of(calve) as ledger:
        table = make_table(ledger)
        first = append(table, 1, 2)
        calve.push(flow(capture("db.t"), COMMIT, dag="sequential", trigger={"incremental": True}))
        (run,) = until_over(calve, 1)
        assert (run.status, run.steps["capture"].params["change_rows"]) == ("SUCCEEDED", 2)
        assert run.initiator["type"] == "INCREMENTAL"
        assert run.initiator["tables"] == {"lake.db.t": first}
        until_decided(calve, What.NOTHING)
        append(table, 3)
        assert until_over(calve, 2)[1].steps["capture"].params["change_rows"] == 1
        found = until_decided(calve, What.NOTHING)
        assert (found["tables"][0]["consumer"], found["tables"][0]["snapshot_id"]) == (
            "w/capture",
            head(table),
        )
    assert len(instances(calve)) == 2


def test_without_a_capture_step_changes_since_the_push_count(calve: EngineRuns, table: Table) -> None:
    append(table, 1)
    calve.push(flow(noop("a"), trigger=ON_T))
    until_decided(calve, What.NOTHING)
    append(table, 2)
    until_over(calve, 1)
    until_decided(calve, What.NOTHING)
    assert len(instances(calve)) == 1


def test_changes_during_a_run_start_exactly_one_more(calve: EngineRuns, table: Table) -> None:
    calve.push(flow(probe("a", gate="go"), trigger=ON_T))
    append(table, 1)
    calve.until(lambda: instances(calve))
    append(table, 2)
    append(table, 3)
    calve.open("go")
    assert [run.status for run in until_over(calve, 2)] == ["SUCCEEDED", "SUCCEEDED"]
    until_decided(calve, What.NOTHING)
    assert len(instances(calve)) == 2


def test_starts_after_ever_longer_waits_are_noted_as_a_growing_lag(
    calve: EngineRuns, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    calve.push(flow(noop("a"), trigger=ON_T))
    until_decided(calve, What.NOTHING)
    ahead = 0
    monkeypatch.setattr(looking, "now_ms", lambda: now_ms() + ahead)
    for at, minutes in enumerate((2, 5, 15)):
        ahead = minutes * 60_000
        append(table, at)
        until_over(calve, at + 1)
        until_decided(calve, What.NOTHING)
        (row,) = calve.rows(incremental_triggers)
        assert row.falls_behind is (at == 2)
    waited = json.loads(row.waits)
    assert [ms // 60_000 for ms in waited] == [2, 5, 15]


def test_a_change_while_no_engine_runs_is_found_by_the_next(calve: EngineRuns, table: Table) -> None:
    calve.push(flow(noop("a"), trigger=ON_T))
    until_decided(calve, What.NOTHING)
    calve.engine.stop()
    append(table, 1)
    calve.start_engine()
    until_over(calve, 1)


def test_a_change_right_after_the_push_counts_although_nobody_has_looked(
    calve: EngineRuns, table: Table
) -> None:
    append(table, 1)
    calve.engine.stop()
    calve.push(flow(noop("a"), trigger=ON_T))
    append(table, 2)
    calve.start_engine()
    until_over(calve, 1)


def test_what_a_limit_leaves_starts_further_runs(calve: EngineRuns, table: Table) -> None:
    for number in range(3):
        append(table, number)
    calve.push(flow(capture("db.t", max_files=1), COMMIT, dag="sequential", trigger={"incremental": True}))
    found = until_over(calve, 3)
    assert [run.steps["capture"].params["change_rows"] for run in found] == [1, 1, 1]
    until_decided(calve, What.NOTHING)
    assert len(instances(calve)) == 3


def test_a_failed_run_is_followed_only_after_a_change_which_then_covers_both(
    calve: EngineRuns, table: Table
) -> None:
    append(table, 1)
    fails = probe("work", "FATAL_ERROR", retry_policy=NO_RETRY)
    calve.push(flow(capture("db.t"), fails, COMMIT, dag="sequential", trigger={"incremental": True}))
    assert until_over(calve, 1)[0].status == "FAILED"
    assert "FAILED" in until_decided(calve, What.HELD)["why"]
    append(table, 2)
    assert until_over(calve, 2)[1].steps["capture"].params["change_rows"] == 2
    until_decided(calve, What.HELD)
    assert len(instances(calve)) == 2


def test_a_new_version_is_tried_on_what_the_old_one_failed_at(calve: EngineRuns, table: Table) -> None:
    append(table, 1)
    fails = probe("work", "FATAL_ERROR", retry_policy=NO_RETRY)
    on: dict[str, Any] = {"trigger": {"incremental": True}, "dag": "sequential"}
    calve.push(flow(capture("db.t"), fails, COMMIT, **on))
    until_decided(calve, What.HELD)
    calve.push(flow(capture("db.t"), noop("work"), COMMIT, **on))
    assert [run.status for run in until_over(calve, 2)] == ["FAILED", "SUCCEEDED"]


def test_a_run_that_succeeds_and_commits_nothing_is_not_repeated(calve: EngineRuns, table: Table) -> None:
    append(table, 1)
    calve.push(flow(capture("db.t"), trigger={"incremental": True}))
    assert "accounted for nothing" in until_decided(calve, What.HELD)["why"]
    assert len(instances(calve)) == 1


def test_thresholds_gather_changes(calve: EngineRuns, table: Table) -> None:
    calve.push(flow(noop("a"), trigger={"incremental": {"tables": "db.t", "min_rows": 3, "max_delay": "1d"}}))
    append(table, 1)
    found = until_decided(calve, What.WAITING)
    assert (found["tables"][0]["rows"], found["next_look"] is None) == (1, False)
    assert instances(calve) == []
    append(table, 2, 3)
    until_over(calve, 1)


def test_a_short_max_delay_lets_little_go(calve: EngineRuns, table: Table) -> None:
    calve.push(
        flow(noop("a"), trigger={"incremental": {"tables": "db.t", "min_rows": 100, "max_delay": "1s"}})
    )
    append(table, 1)
    until_over(calve, 1)


def test_starts_are_spaced(calve: EngineRuns, table: Table) -> None:
    calve.push(flow(noop("a"), trigger={"incremental": {"tables": "db.t", "every": "1h"}}))
    append(table, 1)
    until_over(calve, 1)
    append(table, 2)
    assert "next start" in until_decided(calve, What.WAITING)["why"]
    assert len(instances(calve)) == 1


def test_operations_that_do_not_count_start_nothing(calve: EngineRuns, table: Table) -> None:
    append(table, 1, 2)
    calve.push(flow(noop("a"), trigger={"incremental": {"tables": "db.t", "data_operations": "append"}}))
    until_decided(calve, What.NOTHING)
    table.delete("id = 1")
    deleted = head(table)
    calve.until(lambda: decision(calve)["tables"][0]["snapshot_id"] == deleted)
    assert (decision(calve)["what"], instances(calve)) == (What.NOTHING, [])


def _failures(calve: EngineRuns) -> list[dict[str, Any]]:
    return [json.loads(row.data) for row in calve.rows(events) if row.kind == "trigger"]


def test_a_table_that_is_not_there_is_told_once_and_found_when_it_comes(
    calve: EngineRuns, ledger: Ledger
) -> None:
    calve.push(flow(noop("a"), trigger=ON_T))
    assert until_decided(calve, What.ERROR)["tables"][0]["error"]["code"] == "TABLE_NOT_FOUND"
    table = make_table(ledger)
    until_decided(calve, What.NOTHING)
    append(table, 1)
    until_over(calve, 1)
    assert [failure["error"]["code"] for failure in _failures(calve)] == ["TABLE_NOT_FOUND"]


def test_a_table_that_was_made_anew_is_told(calve: EngineRuns, ledger: Ledger, table: Table) -> None:
    append(table, 1)
    calve.push(flow(capture("db.t"), COMMIT, dag="sequential", trigger={"incremental": True}))
    until_over(calve, 1)
    ledger.lake.catalog("lake").drop_table("db.t")
    append(make_table(ledger), 2)
    calve.until(lambda: "TABLE_RECREATED" in str(decision(calve)))
    assert len(instances(calve)) == 1


def test_a_catalog_that_does_not_exist_stops_no_other_trigger(calve: EngineRuns, table: Table) -> None:
    calve.push(flow(noop("a"), id="other", trigger={"incremental": "nowhere.db.t"}))
    calve.push(flow(noop("a"), trigger=ON_T))
    append(table, 1)
    until_over(calve, 1)
    assert until_decided(calve, What.ERROR, "other")["tables"][0]["error"]["code"] == "CATALOG_UNKNOWN"


def test_a_start_that_is_refused_is_told_and_not_repeated(calve: EngineRuns, table: Table) -> None:
    append(table, 1)
    calve.push(flow(capture("db.t"), trigger={"incremental": True}, **{"!p": "1 / 0"}))
    until_decided(calve, What.HELD)
    assert (len(_failures(calve)), instances(calve)) == (1, [])


def test_a_trigger_in_other_words_waits_for_what_the_former_one_started(
    calve: EngineRuns, table: Table
) -> None:
    append(table, 1)
    steps = [capture("db.t"), probe("work", gate="go"), COMMIT]
    calve.push(flow(*steps, dag="sequential", trigger={"incremental": True}))
    calve.until(lambda: instances(calve))
    calve.push(flow(*steps, dag="sequential", trigger={"incremental": {"every": "1s"}}))
    append(table, 2)
    calve.open("go")
    assert [run.steps["capture"].params["change_rows"] for run in until_over(calve, 2)] == [1, 1]
    until_decided(calve, What.NOTHING)
    assert len(instances(calve)) == 2


def test_triggers_rest_when_the_properties_say_so(calve: EngineRuns, table: Table) -> None:
    calve.push(flow(noop("a"), trigger=ON_T))
    calve.calve.set_properties("w", Properties(incremental_trigger_disabled=True), "ada")
    append(table, 1)
    calve.push(flow(noop("b"), id="other", trigger=ON_T))
    append(table, 2)
    until_over(calve, 1, "other")
    assert instances(calve) == []
    calve.calve.set_properties("w", Properties(incremental_trigger_disabled=False), "ada")
    append(table, 3)
    until_over(calve, 1)


def test_a_workflow_that_is_deactivated_or_deleted_has_no_trigger(calve: EngineRuns, table: Table) -> None:
    calve.push(flow(noop("a"), trigger=ON_T))
    calve.calve.deactivate("w", "ada")
    assert calve.rows(incremental_triggers) == []


def test_a_strategy_that_takes_the_first_only_keeps_the_change_for_later(
    calve: EngineRuns, table: Table
) -> None:
    calve.push(flow(probe("a", gate="go"), trigger=ON_T, run_strategy="first_only"))
    by_hand = calve.start("w")
    calve.until_step(by_hand, "a", "RUNNING")
    append(table, 1)
    other = flow(noop("b"), id="other", trigger=ON_T)
    calve.push(other)
    append(table, 2)
    until_over(calve, 1, "other")
    assert "first only" in until_decided(calve, What.WAITING)["why"]
    assert len(instances(calve)) == 1
    calve.open("go")
    assert [run.status for run in until_over(calve, 2)] == ["SUCCEEDED", "SUCCEEDED"]


# Waking


@pytest.fixture
def patient(home: Path, _probe_type: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineRuns]:
    """An engine that looks at tables only when it is woken, as far as a test can tell."""
    monkeypatch.setenv("CALVE_ENGINE__TABLE_POLL", RARELY)
    database = Database(place_state(home))
    with engine_runs(home, database) as made:
        yield made
    database.close()


def test_a_step_that_wrote_a_table_wakes_what_waits_for_it(patient: EngineRuns) -> None:
    with ledger_of(patient) as ledger:
        table = make_table(ledger)
        patient.push(flow(noop("a"), trigger=ON_T))
        until_decided(patient, What.NOTHING)
        append(table, 1)
        patient.run(flow(probe("write", send="table:lake.db.t"), id="writer"))
        until_over(patient, 1)


def test_a_commit_wakes_the_workflow_downstream(patient: EngineRuns) -> None:
    with ledger_of(patient) as ledger:
        source, target = make_table(ledger), make_table(ledger, "db.u")
        on: dict[str, Any] = {"trigger": {"incremental": True}, "dag": "sequential"}
        patient.push(flow(capture("db.u"), COMMIT, id="downstream", **on))
        commit = {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"tables": ["db.u"]}}}
        patient.push(flow(capture("db.t"), commit, dag="sequential"))
        until_decided(patient, What.NOTHING, "downstream")
        append(source, 1)
        append(target, 1)
        assert patient.run("w").status == "SUCCEEDED"
        assert [run.status for run in until_over(patient, 1, "downstream")] == ["SUCCEEDED"]


def test_the_end_of_a_run_wakes_what_it_left_over(patient: EngineRuns) -> None:
    with ledger_of(patient) as ledger:
        table = make_table(ledger)
        append(table, 1)
        append(table, 2)
        on: dict[str, Any] = {"trigger": {"incremental": True}, "dag": "sequential"}
        patient.push(flow(capture("db.t", max_files=1), COMMIT, **on))
        assert len(until_over(patient, 2)) == 2


# Cost


def test_without_a_trigger_no_catalog_is_asked(calve: EngineRuns) -> None:
    calve.push(flow(noop("a")))
    TableWatcher(calve.settings, calve.database).look()
    assert not (calve.settings.home / "catalog.db").exists()


def test_the_metadata_of_a_table_is_read_only_when_it_has_moved(home: Path) -> None:
    database = Database(place_state(home))
    idle = EngineRuns(home, database)
    watcher = TableWatcher(idle.settings, database)
    with ledger_of(idle) as ledger:
        table = make_table(ledger)
        idle.push(flow(noop("a"), trigger=ON_T))
        watcher.look()
        assert decision(idle)["what"] == What.NOTHING
        for file in (home / "warehouse").rglob("*.metadata.json"):
            file.rename(file.with_suffix(".away"))
        watcher.look()
        assert decision(idle)["what"] == What.NOTHING
        for file in (home / "warehouse").rglob("*.away"):
            file.rename(file.with_suffix(".json"))
        append(table, 1)
        watcher.look()
    assert decision(idle)["what"] == What.START
    database.close()


def test_metadata_that_cannot_be_read_is_told(home: Path) -> None:
    database = Database(place_state(home))
    idle = EngineRuns(home, database)
    with ledger_of(idle) as ledger:
        make_table(ledger)
    idle.push(flow(noop("a"), trigger=ON_T))
    for file in (home / "warehouse").rglob("*.metadata.json"):
        file.write_text("{")
    TableWatcher(idle.settings, database).look()
    assert decision(idle)["tables"][0]["error"]["code"] == "METADATA_CORRUPT"
    database.close()
