"""Workflows as they are shown: lists, searches, versions, properties, timelines."""

from __future__ import annotations

from typing import Any

import pytest

from calve.engine.views import workflow_list
from calve.engine.views import workflows as views
from calve.engine.views.pages import PageRequest
from calve.errors import NotFoundError, UsageError
from calve.state.database import Database
from support.engine_rows import NOW, push_jobs, push_yaml, set_run, start

pytestmark = pytest.mark.slow

DESCRIBED = """
Workflow:
  id: sales.orders
  name: Order facts
  description: What customers ordered
  owner: Dora
  tags: [gold]
  jobs:
    - job: {id: load, type: NoOp}
"""


def ids(page: dict[str, Any]) -> list[str]:
    return [one["workflow_id"] for one in page["workflows"]]


def search(database: Database, text: str | None = None, **more: Any) -> dict[str, Any]:
    with database.read() as connection:
        return workflow_list.list_workflows(connection, text, **more)


def test_workflows_are_listed_by_id_with_their_latest_run(database: Database) -> None:
    push_jobs(database, "b", "one")
    push_jobs(database, "a", "one")
    start(database, "b")
    set_run(database, start(database, "b").run, status="SUCCEEDED", started_at=NOW, ended_at=NOW + 5)
    first, second = search(database)["workflows"]
    assert (first["workflow_id"], first["active_version_id"], first["owner"]) == ("a", 1, "alice")
    assert "latest_run" not in first
    assert second["latest_run"] == {
        "workflow_instance_id": 2,
        "workflow_run_id": 1,
        "status": "SUCCEEDED",
        "create_time": NOW,
        "start_time": NOW,
        "end_time": NOW + 5,
    }


@pytest.mark.parametrize("text", ["SALES", "order facts", "customers", "gold", "dora", "Dora "])
def test_a_search_looks_at_id_name_description_tags_and_owner(database: Database, text: str) -> None:
    push_yaml(database, DESCRIBED)
    push_jobs(database, "other", "one")
    assert ids(search(database, text)) == ["sales.orders"]


@pytest.mark.parametrize("text", ["load", "NoOp", "%", "_", "jobs", "\\", '"'])
def test_a_search_does_not_look_at_anything_else(database: Database, text: str) -> None:
    push_yaml(database, DESCRIBED)
    assert ids(search(database, text)) == []


def test_a_search_finds_letters_beyond_ascii_in_any_case(database: Database) -> None:
    push_yaml(database, DESCRIBED.replace("Order facts", "Übersicht"))
    assert ids(search(database, "übersicht")) == ["sales.orders"]


def test_a_list_goes_on_where_it_ended(database: Database) -> None:
    for name in "abcde":
        push_jobs(database, name, "one")
    first = search(database, limit=2)
    assert (ids(first), first["next_cursor"]) == (["a", "b"], "b")
    second = search(database, cursor="b", limit=3)
    assert (ids(second), second["next_cursor"]) == (["c", "d", "e"], None)
    with pytest.raises(UsageError, match="limit of 0"):
        search(database, limit=0)


def test_an_overview_counts_what_is_unfinished(database: Database) -> None:
    push_jobs(database, "wf", "one")
    for _ in range(3):
        run = start(database, "wf").run
    set_run(database, run, status="IN_PROGRESS")
    set_run(database, start(database, "wf").run, status="FAILED", blocking=True)
    with database.read() as connection:
        found = views.workflow_overview(connection, "wf")
    assert found["nonterminal_instances"] == {"CREATED": 2, "IN_PROGRESS": 1}
    assert (found["failed_instances"], found["latest_instance_id"]) == (1, 4)
    assert (found["active_version_id"], found["default_version_id"]) == (1, 1)


def test_a_version_is_named_by_a_word_or_a_number(database: Database) -> None:
    push_jobs(database, "wf", "one")
    push_jobs(database, "wf", "two")
    with database.read() as connection:
        latest = views.workflow_version(connection, "wf", "latest")
        first = views.workflow_version(connection, "wf", 1)
        assert latest["metadata"]["workflow_version_id"] == 2
        assert latest["metadata"]["version_author"] == {"name": "alice"}
        assert (latest["is_active"], latest["is_latest"], first["is_active"]) == (True, True, False)
        assert first["workflow"]["steps"][0]["step"]["id"] == "one"
        with pytest.raises(NotFoundError, match="no version 3"):
            views.workflow_version(connection, "wf", "3")
        with pytest.raises(UsageError, match="found the version"):
            views.workflow_version(connection, "wf", "newest")


def test_an_unknown_workflow_is_answered_with_the_nearest(database: Database) -> None:
    push_jobs(database, "demo.pipeline", "one")
    with database.read() as connection, pytest.raises(NotFoundError) as caught:
        views.workflow_overview(connection, "demo.pipelin")
    assert caught.value.remedy == "did you mean 'demo.pipeline'?"


def test_versions_come_in_pages_from_the_newest(database: Database) -> None:
    for _ in range(5):
        push_jobs(database, "wf", "one")

    def page(**request: Any) -> tuple[list[int], dict[str, Any]]:
        with database.read() as connection:
            found = views.workflow_versions_page(connection, "wf", PageRequest(**request))
        return [one["metadata"]["workflow_version_id"] for one in found["elements"]], found["page_info"]

    numbers, info = page(first=2)
    assert numbers == [5, 4]
    assert (info["start_cursor"], info["end_cursor"]) == ("5", "4")
    assert (info["has_next_page"], info["has_previous_page"]) == (True, False)
    assert page(first=2, cursor=4)[0] == [3, 2]
    assert page(first=9, cursor=2) == ([1], {**page(first=9, cursor=2)[1], "has_next_page": False})
    assert page(last=2)[0] == [2, 1]
    assert page(last=2, cursor=2)[0] == [4, 3]
    assert page(first=2, cursor=1)[0] == []


@pytest.mark.parametrize(
    ("first", "last", "cursor"),
    [(None, None, None), (1, 1, None), (0, None, None), (201, None, None), (1, None, "x")],
)
def test_what_is_no_page_is_refused(first: int | None, last: int | None, cursor: str | None) -> None:
    with pytest.raises(UsageError, match="no page"):
        PageRequest.parse(first, last, cursor)


def test_properties_are_kept_as_each_change_made_them(database: Database) -> None:
    push_jobs(database, "wf", "one", owner="bob")
    push_jobs(database, "wf", "one", owner="carol")
    with database.read() as connection:
        assert views.properties_snapshot(connection, "wf")["owner"] == "carol"
        first = views.properties_snapshot(connection, "wf", "1")
        assert (first["owner"], first["author"], first["snapshot_id"]) == ("bob", {"name": "alice"}, 1)
        with pytest.raises(NotFoundError, match="number 9"):
            views.properties_snapshot(connection, "wf", "9")
        with pytest.raises(UsageError, match="snapshot 'x'"):
            views.properties_snapshot(connection, "wf", "x")


def test_a_timeline_tells_what_was_done_from_the_newest(database: Database) -> None:
    push_jobs(database, "wf", "one")
    push_jobs(database, "wf", "one")
    start(database, "wf")
    with database.read() as connection:
        found = views.workflow_timeline(connection, "wf")["timeline_events"]
    assert [(event["action"], event["version"]) for event in found] == [("pushed", 2), ("pushed", 1)]
    assert found[0]["author"] == {"name": "alice"}
    assert "pushed" in found[0]["log"]
