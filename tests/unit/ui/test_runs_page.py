"""The list of runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from calve.engine.views import run_list
from calve.state.database import Database
from calve.ui.views.runs import listing
from support.engine_rows import NOW, add_run, push_jobs, set_run, start

pytestmark = pytest.mark.slow


@pytest.fixture
def two(database: Database) -> tuple[int, int]:
    """A run of each of two workflows; the second failed."""
    push_jobs(database, "first", "a")
    push_jobs(database, "second", "a")
    one = start(database, "first", author="ada").run
    other = start(database, "second", initiator={"type": "INCREMENTAL", "tables": {"lake.db.t": 7}}).run
    error = json.dumps({"code": "X", "message": "it broke <b>"})
    set_run(database, other, status="FAILED", started_at=NOW, ended_at=NOW + 65_000, error=error)
    return one, other


def listed(twins: TestClient, **query: Any) -> list[str]:
    return [run["workflow_id"] for run in twins.get("/runs", params=query).json()["runs"]]


def test_a_page_without_runs_says_what_to_do(browser: TestClient) -> None:
    page = browser.get("/runs")
    assert page.status_code == 200
    assert "Nothing has run yet." in page.text


@pytest.mark.usefixtures("two")
def test_the_newest_run_comes_first_with_who_started_it(browser: TestClient, twins: TestClient) -> None:
    text = browser.get("/runs").text
    assert text.index("/workflows/second/instances/1/runs/1") < text.index("/workflows/first/instances/1")
    assert "changes of tables" in text
    assert "/tables/lake.db.t" in text
    assert "1 min 05 s" in text
    assert "it broke &lt;b&gt;" in text
    assert listed(twins) == ["second", "first"]


@pytest.mark.usefixtures("two")
def test_runs_are_found_by_workflow_and_by_status(twins: TestClient) -> None:
    assert listed(twins, workflow="first") == ["first"]
    assert listed(twins, status="failed") == ["second"]
    assert listed(twins, status="CREATED") == ["first"]
    assert listed(twins, workflow="first", status="FAILED") == []


@pytest.mark.usefixtures("two")
def test_a_workflow_that_is_not_there_is_an_answer_not_an_error(browser: TestClient) -> None:
    page = browser.get("/runs", params={"workflow": "secnd"})
    assert page.status_code == 200
    assert "did you mean &#39;second&#39;?" in page.text


@pytest.mark.parametrize("query", [{"status": "odd"}, {"cursor": "odd"}, {"cursor": "1-2"}])
def test_a_query_that_makes_no_sense_is_refused_with_a_page(
    browser: TestClient, query: dict[str, str]
) -> None:
    page = browser.get("/runs", params=query)
    assert page.status_code == 400
    assert "<h1>" in page.text


def test_iterations_are_not_listed_but_what_subworkflows_started_is(
    database: Database, twins: TestClient
) -> None:
    push_jobs(database, "outer", "a")
    outer = start(database, "outer").run
    add_run(database, outer, workflow_id="maestro_foreach_1", inline=True, parent_run=outer, uuid="i")
    add_run(database, outer, instance_id=2, parent_run=outer, parent_step="sub", uuid="s")
    found = twins.get("/runs").json()["runs"]
    assert [run["workflow_id"] for run in found] == ["outer", "outer"]
    assert found[0]["start"]["words"] == "subworkflow step sub in outer #1"
    assert found[0]["start"]["href"] == "/workflows/outer/instances/1/steps/sub?run=1"


@pytest.mark.parametrize("query", [{}, {"workflow": "wf"}, {"status": "CREATED"}, {"status": "STOPPED"}])
def test_pages_go_on_where_the_one_before_ended_and_show_each_run_once(
    database: Database, twins: TestClient, monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    monkeypatch.setattr(listing, "SIZE", 2)
    # So small that runs in a rare status are past it.
    monkeypatch.setattr(run_list, "WINDOW", 3)
    push_jobs(database, "wf", "a", run_strategy="parallel")
    keys = [start(database, "wf").run for _ in range(5)]
    add_run(database, keys[0], run_id=2, uuid="again", latest=True)
    if query.get("status") == "STOPPED":
        set_run(database, keys[0], status="STOPPED")
        set_run(database, keys[1], status="STOPPED")
    found, address, pages = [], "/runs", 0
    while address and pages < 10:
        page = twins.get(address, params=query if not pages else None).json()
        found += [(run["instance_id"], run["run_id"]) for run in page["runs"]]
        address, pages = page["older"], pages + 1
    expected = {"STOPPED": {(1, 1), (2, 1)}}.get(
        query.get("status", ""), {(n, 1) for n in range(1, 6)} | {(1, 2)}
    )
    assert len(found) == len(set(found))
    assert set(found) == expected
