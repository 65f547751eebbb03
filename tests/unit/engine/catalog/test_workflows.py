"""Versions are found by word or number; workflows are activated, paused, tagged and deleted."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, update

from calve.engine.catalog import versions
from calve.engine.catalog.breakpoints import Place, add_breakpoint
from calve.engine.catalog.deletion import delete_workflow
from calve.engine.catalog.properties import add_tag, remove_tag, set_properties
from calve.engine.catalog.rows import read_workflow
from calve.engine.catalog.versions import load_definition, resolve_version
from calve.engine.catalog.workflows import activate, deactivate, pause, resume
from calve.engine.model.statuses import RunStatus
from calve.errors import ConflictError, NotFoundError, UsageError
from calve.state.database import Database
from calve.state.orchestration import (
    breakpoints,
    events,
    property_changes,
    runs,
    signal_subscriptions,
    signal_triggers,
    steps,
    time_triggers,
    wakeups,
    workflow_versions,
    workflows,
)
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.tags import Tag
from support.engine_db import AUTHOR, NOW, add_run, event_data, push_workflow, rows

pytestmark = pytest.mark.slow


def test_a_version_is_named_by_a_word_or_a_number(connection: Connection) -> None:
    push_workflow(connection)
    push_workflow(connection, top="is_active: false")
    found = {word: resolve_version(connection, "w", word) for word in ("active", "LATEST", "default", "1", 2)}
    assert found == {"active": 1, "LATEST": 2, "default": 1, "1": 1, 2: 2}
    deactivate(connection, "w", AUTHOR, NOW)
    assert resolve_version(connection, "w", "default") == 2


@pytest.mark.parametrize(
    ("version", "kind", "code"),
    [
        ("active", NotFoundError, "WORKFLOW_NOT_ACTIVE"),
        (0, NotFoundError, "VERSION_NOT_FOUND"),
        (2, NotFoundError, "VERSION_NOT_FOUND"),
        ("newest", UsageError, "VERSION_INVALID"),
        ("-1", UsageError, "VERSION_INVALID"),
        ("9" * 30, UsageError, "VERSION_INVALID"),
    ],
)
def test_a_version_that_is_not_there_is_refused(
    connection: Connection, version: str | int, kind: type[UsageError], code: str
) -> None:
    push_workflow(connection, top="is_active: false")
    with pytest.raises(kind) as refused:
        resolve_version(connection, "w", version)
    assert refused.value.code == code


def test_a_workflow_that_is_not_there_is_not_found_with_a_guess(connection: Connection) -> None:
    push_workflow(connection, "demo.orders")
    with pytest.raises(NotFoundError) as missing:
        resolve_version(connection, "demo.order", "active")
    assert missing.value.code == "WORKFLOW_NOT_FOUND"
    assert "demo.orders" in missing.value.remedy


def test_a_definition_is_read_once_and_not_mixed_up_with_one_of_a_deleted_workflow(
    engine_db: Database,
) -> None:
    with engine_db.write() as connection:
        push_workflow(connection, inside="region: eu")
        first = load_definition(connection, "w", 1)
        assert load_definition(connection, "w", 1) is first
        while not delete_workflow(connection, "w", AUTHOR, NOW):
            pass
        push_workflow(connection, inside="region: us")
        assert load_definition(connection, "w", 1).workflow.params["region"].value == "us"
        with pytest.raises(NotFoundError):
            load_definition(connection, "w", 2)


def test_a_workflow_made_anew_by_another_process_is_read_anew(connection: Connection) -> None:
    push_workflow(connection, inside="region: eu")
    load_definition(connection, "w", 1)
    text = connection.execute(select(workflow_versions.c.definition)).scalar_one().replace("eu", "us")
    connection.execute(update(workflow_versions).values(definition=text, created_at=NOW + 1))
    assert load_definition(connection, "w", 1).workflow.params["region"].value == "us"


def test_the_definitions_kept_in_memory_are_bounded(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_cache", versions._Cache(2))
    for number in range(5):
        push_workflow(connection, f"w{number}")
        load_definition(connection, f"w{number}", 1)
    assert len(versions._cache._found) == 2


def test_activating_is_told_of_once(connection: Connection) -> None:
    push_workflow(connection)
    push_workflow(connection)
    assert activate(connection, "w", 1, AUTHOR, NOW) == 1
    assert activate(connection, "w", 1, AUTHOR, NOW) == 1
    assert deactivate(connection, "w", AUTHOR, NOW) == 1
    assert deactivate(connection, "w", AUTHOR, NOW) is None
    assert [found["action"] for found in event_data(connection, "workflow")] == [
        "pushed", "pushed", "activated", "deactivated",
    ]  # fmt: skip
    with pytest.raises(NotFoundError):
        activate(connection, "w", 3, AUTHOR, NOW)


def test_a_workflow_is_paused_and_resumed(connection: Connection) -> None:
    push_workflow(connection)
    pause(connection, "w", AUTHOR, NOW)
    pause(connection, "w", AUTHOR, NOW)
    assert read_workflow(connection, "w").paused
    before = len(rows(connection, wakeups))
    resume(connection, "w", AUTHOR, NOW)
    assert not read_workflow(connection, "w").paused
    assert len(rows(connection, wakeups)) == before + 1
    assert [found["action"] for found in event_data(connection, "workflow")][1:] == ["paused", "resumed"]


def test_properties_that_are_stated_change_and_the_others_stay(connection: Connection) -> None:
    push_workflow(connection, inside="step_concurrency: 5")
    found = set_properties(connection, "w", Properties(description="new"), AUTHOR, NOW)
    assert (found.step_concurrency, found.description) == (5, "new")
    assert read_workflow(connection, "w").properties == found
    set_properties(connection, "w", Properties(description="new"), AUTHOR, NOW)
    assert [row["properties_version"] for row in rows(connection, property_changes)] == [1, 2]


def test_a_run_strategy_is_refused_as_at_push(connection: Connection) -> None:
    push_workflow(connection)
    for number in (1, 2):
        add_run(connection, "w", number, status=RunStatus.CREATED)
    with pytest.raises(ConflictError):
        set_properties(connection, "w", Properties.model_validate({"run_strategy": "last_only"}), AUTHOR, NOW)


def test_tags_are_added_replaced_and_removed_and_survive_a_push(connection: Connection) -> None:
    push_workflow(connection)
    add_tag(connection, "w", Tag(name="gold"), AUTHOR, NOW)
    add_tag(connection, "w", Tag.model_validate({"name": "gold", "level": 2}), AUTHOR, NOW)
    add_tag(connection, "w", Tag(name="blue"), AUTHOR, NOW)
    push_workflow(connection, inside="step_concurrency: 3")
    assert [tag.name for tag in read_workflow(connection, "w").properties.tags] == ["gold", "blue"]
    remove_tag(connection, "w", "gold", AUTHOR, NOW)
    remove_tag(connection, "w", "blue", AUTHOR, NOW)
    assert read_workflow(connection, "w").properties.tags == ()
    with pytest.raises(NotFoundError) as missing:
        remove_tag(connection, "w", "gold", AUTHOR, NOW)
    assert missing.value.code == "TAG_NOT_FOUND"


def add_step(connection: Connection, run: int) -> None:
    row: dict[str, Any] = {"run": run, "step_id": "only", "attempt_id": 1, "uuid": str(run), "carried": False}
    row |= {"status": "SUCCEEDED", "params": "{}", "retries": "{}", "created_at": NOW}
    connection.execute(insert(steps).values(row))
    event = {"at": NOW, "kind": "step", "workflow_id": "inside", "run": run, "data": "{}"}
    connection.execute(insert(events).values(event))


def test_a_workflow_is_deleted_with_all_it_left_a_bounded_piece_at_a_time(engine_db: Database) -> None:
    with engine_db.write() as connection:
        push_workflow(connection, top="Trigger: [{cron: '@daily'}, {signal: a}]")
        push_workflow(connection, "kept", top="Trigger: [{cron: '@daily'}, {signal: a}]")
        add_breakpoint(connection, Place(workflow_id="w", step_id="only"), AUTHOR, NOW)
        for number in range(1, 8):
            key = add_run(connection, "w", number)
            add_step(connection, key)
            for loop in range(5):
                name = f"maestro_foreach_{number}"
                inner = add_run(connection, name, loop, inline=True, parent_run=key, root_run=key)
                add_step(connection, inner)
                add_step(connection, add_run(connection, f"{name}_{loop}", 1, inline=True, parent_run=inner))
        called = add_run(connection, "kept", 1, parent_run=key, root_run=key)
        add_step(connection, called)
    calls = 1
    while True:
        with engine_db.write() as connection:
            before = len(rows(connection, runs))
            gone = delete_workflow(connection, "w", AUTHOR, NOW, chunk=4)
            assert before - len(rows(connection, runs)) <= 4
            assert gone or read_workflow(connection, "w").active_version is None
        if gone:
            break
        calls += 1
    assert calls > 7 * 11 // 4
    with engine_db.read() as connection:
        assert [row["id"] for row in rows(connection, runs)] == [called]
        assert [row["run"] for row in rows(connection, steps)] == [called]
        for table in (workflows, workflow_versions, property_changes, time_triggers, signal_triggers):
            assert [row["workflow_id"] for row in rows(connection, table)] == ["kept"]
        assert len(rows(connection, signal_subscriptions)) == 1
        assert rows(connection, breakpoints) == []
        assert [row["run"] for row in rows(connection, events) if row["run"] is not None] == [called]
        assert [found["action"] for found in event_data(connection, "workflow")] == ["deleted"]


@pytest.mark.parametrize("status", [RunStatus.CREATED, RunStatus.IN_PROGRESS])
def test_a_workflow_with_instances_that_have_not_ended_is_not_deleted(
    connection: Connection, status: RunStatus
) -> None:
    push_workflow(connection)
    add_run(connection, "w", 1, status=status)
    with pytest.raises(ConflictError) as refused:
        delete_workflow(connection, "w", AUTHOR, NOW)
    assert refused.value.code == "WORKFLOW_BUSY"
    assert read_workflow(connection, "w").active_version == 1


def test_what_is_not_there_cannot_be_deleted(connection: Connection) -> None:
    with pytest.raises(NotFoundError):
        delete_workflow(connection, "w", AUTHOR, NOW)
