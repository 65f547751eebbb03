"""A push makes a version for good, merges properties, and tells of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection

from calve.engine.catalog.push import Pushed, push
from calve.engine.catalog.rows import read_workflow
from calve.engine.catalog.versions import load_definition, resolve_version
from calve.engine.model.statuses import RunStatus
from calve.errors import ConflictError, UsageError
from calve.state.database import Database
from calve.state.orchestration import property_changes, wakeups, workflow_versions
from calve.workflow.definition.run_strategy import Rule
from support.engine_db import AUTHOR, NOW, add_run, definition, event_data, push_workflow, rows


def test_the_first_push_makes_the_workflow_with_its_pusher_as_owner(connection: Connection) -> None:
    assert push_workflow(connection) == Pushed("w", 1, active=True)
    found = read_workflow(connection, "w")
    assert (found.latest_version, found.active_version, found.latest_instance_id) == (1, 1, 0)
    assert found.properties.owner is not None
    assert found.properties.owner.name == AUTHOR
    assert not found.paused


def test_an_owner_that_is_stated_is_kept(connection: Connection) -> None:
    push_workflow(connection, inside="owner: grace")
    push_workflow(connection)
    found = read_workflow(connection, "w")
    assert found.properties.owner is not None
    assert found.properties.owner.name == "grace"


def test_somebody_has_to_own_a_workflow(connection: Connection) -> None:
    with pytest.raises(UsageError) as refused:
        push(connection, definition(), "", NOW)
    assert refused.value.code == "OWNER_MISSING"


def test_the_same_definition_again_is_a_further_version(connection: Connection) -> None:
    assert [push_workflow(connection).version for _ in range(3)] == [1, 2, 3]
    assert len(rows(connection, workflow_versions)) == 3


def test_a_version_never_changes(connection: Connection) -> None:
    first = definition(inside="region: eu")
    push(connection, first, AUTHOR, NOW)
    push_workflow(connection, inside="region: us")
    assert load_definition(connection, "w", 1) == first
    assert load_definition(connection, "w", 2).workflow.params["region"].value == "us"


def test_a_push_that_is_not_active_leaves_the_active_version(connection: Connection) -> None:
    assert push_workflow(connection, top="is_active: false") == Pushed("w", 1, active=False)
    assert read_workflow(connection, "w").active_version is None
    push_workflow(connection)
    push_workflow(connection, top="is_active: false")
    assert resolve_version(connection, "w", "active") == 2
    assert resolve_version(connection, "w", "latest") == 3


def test_properties_are_merged_and_every_change_is_kept(connection: Connection) -> None:
    push_workflow(connection, inside="step_concurrency: 5")
    push_workflow(connection, inside="step_concurrency: 5\nrun_strategy: parallel")
    push_workflow(connection, inside="step_concurrency: 5\nrun_strategy: parallel")
    found = read_workflow(connection, "w").properties
    assert found.step_concurrency == 5
    assert found.run_strategy is not None
    assert found.run_strategy.rule is Rule.PARALLEL
    assert [row["properties_version"] for row in rows(connection, property_changes)] == [1, 2]


def test_tags_of_properties_cannot_be_pushed(connection: Connection) -> None:
    plain = definition().to_json() | {"properties": {"tags": ["gold"]}}
    with pytest.raises(UsageError) as refused:
        push(connection, type(definition()).model_validate(plain), AUTHOR, NOW)
    assert refused.value.code == "PROPERTY_TAGS"


def test_a_push_is_told_of_and_has_the_queue_looked_at(connection: Connection) -> None:
    push_workflow(connection)
    assert event_data(connection, "workflow") == [
        {"action": "pushed", "version": 1, "active": True, "author": AUTHOR}
    ]
    assert [(row["kind"], row["key"]) for row in rows(connection, wakeups)] == [("queue", "w")]


@pytest.mark.parametrize("rule", ["first_only", "last_only"])
def test_one_at_a_time_is_refused_while_there_are_more(connection: Connection, rule: str) -> None:
    push_workflow(connection, inside="run_strategy: parallel")
    add_run(connection, "w", 1, status=RunStatus.IN_PROGRESS)
    push_workflow(connection, inside="run_strategy: sequential")
    add_run(connection, "w", 2, status=RunStatus.CREATED)
    add_run(connection, "w", 3, status=RunStatus.FAILED)
    with pytest.raises(ConflictError) as refused:
        push_workflow(connection, inside=f"run_strategy: {rule}")
    assert refused.value.code == "RUN_STRATEGY_CONFLICT"


def test_one_at_a_time_is_fine_with_one_that_has_not_ended(connection: Connection) -> None:
    push_workflow(connection)
    add_run(connection, "w", 1, status=RunStatus.IN_PROGRESS)
    add_run(connection, "w", 2, status=RunStatus.SUCCEEDED)
    assert push_workflow(connection, inside="run_strategy: first_only").version == 2


def test_nothing_of_a_refused_push_is_stored(engine_db: Database) -> None:
    with pytest.raises(UsageError), engine_db.write() as connection:
        push_workflow(connection, top="Trigger: [{cron: '@daily', fuzzy_max_delay: '${slack}'}]")
    with engine_db.write() as connection:
        assert rows(connection, workflow_versions) == rows(connection, property_changes) == []
        push_workflow(connection, inside="region: us")
    with engine_db.read() as connection:
        assert load_definition(connection, "w", 1).workflow.params["region"].value == "us"


def test_many_that_push_a_new_workflow_at_once_get_a_version_each(engine_db: Database) -> None:
    def one(_: int) -> int:
        with engine_db.write() as connection:
            return push_workflow(connection, top="Trigger: [{signal: a}, {cron: '@daily'}]").version

    with engine_db.read():
        pass
    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(one, range(18))) == [*range(1, 19)]
