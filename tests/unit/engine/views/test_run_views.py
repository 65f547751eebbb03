"""Runs, steps and loops as they are shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calve.engine.views import flatten, inline, run_documents, run_list, runs, steps
from calve.engine.views.pages import PageRequest
from calve.errors import NotFoundError, UsageError
from calve.state.database import Database
from support.engine_rows import NOW, add_run, add_step, evaluated, push_jobs, push_yaml, set_run, start

pytestmark = pytest.mark.slow

LOOP = """
Workflow:
  id: loops
  jobs:
    - foreach:
        id: outer
        params: {x: [1, 2, 3]}
        jobs:
          - job: {id: leaf, type: NoOp}
          - foreach:
              id: inner
              params: {y: [1, 2]}
              jobs:
                - job: {id: deep, type: NoOp}
"""


@pytest.fixture
def run(database: Database) -> int:
    """A run of three steps: done, under way, not begun."""
    push_jobs(database, "wf", "a", "b", "c")
    key = start(database, "wf").run
    set_run(database, key, status="IN_PROGRESS", started_at=NOW + 1)
    add_step(database, key, "a", "SUCCEEDED", params=evaluated(rows=3), started_at=NOW, ended_at=NOW + 9)
    add_step(database, key, "b", "USER_FAILED", error=json.dumps({"code": "X", "message": "m"}))
    add_step(database, key, "b", "RUNNING", attempt_id=2, progress=json.dumps({"fraction": 0.5}))
    return key


@pytest.mark.usefixtures("run")
def test_a_summary_has_every_step_with_its_newest_attempt(database: Database) -> None:
    with database.read() as connection:
        found = runs.run_summary(connection, "wf", 1)
    assert {key: found[key] for key in ("workflow_id", "instance_id", "run_id", "status")} == {
        "workflow_id": "wf",
        "instance_id": 1,
        "run_id": 1,
        "status": "IN_PROGRESS",
    }
    assert list(found["steps"]) == ["a", "b", "c"]
    assert found["steps"]["a"]["params"] == {"rows": 3}
    assert (found["steps"]["b"]["status"], found["steps"]["b"]["attempt_id"]) == ("RUNNING", 2)
    assert found["steps"]["b"]["progress"] == {"fraction": 0.5}
    assert "error" not in found["steps"]["b"]
    assert found["steps"]["c"] == {"status": "NOT_CREATED", "params": {}}
    assert found["params"]["workflow_id"] == "wf"


@pytest.mark.usefixtures("run")
def test_a_run_has_maestros_fields(database: Database) -> None:
    with database.read() as connection:
        found = run_documents.run_document(connection, "wf", 1, "1")
    assert (found["workflow_instance_id"], found["workflow_run_id"], found["status"]) == (1, 1, "IN_PROGRESS")
    assert found["runtime_overview"]["total_step_count"] == 3
    assert found["runtime_overview"]["step_overview"] == {
        "SUCCEEDED": {"cnt": 1},
        "RUNNING": {"cnt": 1},
        "NOT_CREATED": {"cnt": 1},
    }
    assert found["params"]["workflow_id"]["evaluated_result"] == "wf"
    assert found["initiator"]["type"] == "MANUAL"
    assert (found["create_time"], found["start_time"]) == (NOW, NOW + 1)
    assert [event["status"] for event in found["timeline"]["timeline_events"]] == ["CREATED"]


def test_an_instance_lays_its_runs_over_each_other(database: Database, run: int) -> None:
    set_run(database, run, latest=False, status="FAILED")
    again = add_run(database, run, run_id=2, uuid="again", latest=True, status="SUCCEEDED")
    add_step(database, again, "b", "SUCCEEDED")
    with database.read() as connection:
        views = run_documents.instance_document(connection, "wf", 1)["aggregated_info"][
            "step_aggregated_views"
        ]
        assert {name: (view["workflow_run_id"], view["status"]) for name, view in views.items()} == {
            "a": (1, "SUCCEEDED"),
            "b": (2, "SUCCEEDED"),
        }
        assert [step["workflow_run_id"] for step in steps.instance_steps(connection, "wf", 1)] == [1, 2]
        assert steps.instance_step(connection, "wf", 1, "a")["workflow_run_id"] == 1
        numbers = run_documents.runs_page(connection, "wf", 1, PageRequest(first=5))["elements"]
        assert [one["workflow_run_id"] for one in numbers] == [2, 1]


def test_instances_come_in_pages_from_the_newest(database: Database) -> None:
    push_jobs(database, "wf", "a")
    for _ in range(5):
        start(database, "wf")
    with database.read() as connection:
        page = run_documents.instances_page(connection, "wf", PageRequest(first=2, cursor=4))
        assert [one["workflow_instance_id"] for one in page["elements"]] == [3, 2]
        assert page["total_count"] == 5
        empty = run_documents.instances_page(connection, "wf", PageRequest(last=2, cursor=5))
        assert (empty["elements"], empty["page_info"]["start_cursor"]) == ([], None)


def test_runs_are_listed_from_the_newest_without_iterations(database: Database) -> None:
    push_jobs(database, "wf", "a")
    push_jobs(database, "other", "a")
    first = start(database, "wf").run
    start(database, "other")
    set_run(database, start(database, "wf").run, status="FAILED")
    add_run(database, first, uuid="inline", workflow_id="maestro_foreach_x", inline=True)

    def listed(workflow_id: str = "", status: str = "", limit: int = 20) -> list[tuple[str, int]]:
        with database.read() as connection:
            wanted = run_list.Wanted.parse(workflow_id, status, None, limit)
            found = run_list.list_runs(connection, wanted)["runs"]
        return [(one["workflow_id"], one["instance_id"]) for one in found]

    assert listed() == [("wf", 2), ("other", 1), ("wf", 1)]
    assert listed("wf") == [("wf", 2), ("wf", 1)]
    assert listed(status="failed") == [("wf", 2)]
    assert listed(limit=1) == [("wf", 2)]
    with pytest.raises(UsageError, match="status 'lost'"):
        listed(status="lost")


@pytest.mark.usefixtures("run")
def test_an_attempt_tells_when_it_entered_which_status(database: Database) -> None:
    with database.read() as connection:
        found = steps.step_attempt(connection, "wf", 1, 1, "b")
        assert found["step_attempt_id"] == 2
        assert found["runtime_state"] == {
            "status": "RUNNING",
            "create_time": NOW,
            "initialize_time": NOW + 1,
            "execute_time": NOW + 2,
            "modify_time": NOW + 2,
        }
        assert found["definition"]["step"]["id"] == "b"
        assert found["transition"] == {"successors": {"c": "true"}}
        assert len(found["timeline"]["timeline_events"]) == 1
        first = steps.step_attempt(connection, "wf", 1, "latest", "b", "1")
        assert first["error"] == {"code": "X", "message": "m"}
        assert [step["step_id"] for step in steps.run_steps(connection, "wf", 1, 1)] == ["a", "b"]


@pytest.mark.parametrize(
    ("place", "code", "remedy"),
    [
        (("wff", 1, 1, "a"), "WORKFLOW_NOT_FOUND", "did you mean 'wf'?"),
        (("wf", 7, 1, "a"), "INSTANCE_NOT_FOUND", "the latest is 1"),
        (("wf", 1, 7, "a"), "RUN_NOT_FOUND", "the latest is 1"),
        (("wf", 1, 1, "aa"), "STEP_NOT_FOUND", "did you mean 'a'?"),
        (("wf", 1, 1, "c"), "STEP_NOT_FOUND", "ask again once it has begun"),
        (("wf", 1, 1, "b", 9), "ATTEMPT_NOT_FOUND", "use 'latest'"),
    ],
)
@pytest.mark.usefixtures("run")
def test_what_is_missing_is_named(database: Database, place: Any, code: str, remedy: str) -> None:
    with database.read() as connection, pytest.raises(NotFoundError) as caught:
        steps.step_attempt(connection, *place)
    assert (caught.value.code, caught.value.remedy) == (code, remedy)


def test_a_run_without_steps_has_none_to_show(database: Database) -> None:
    push_jobs(database, "wf", "a")
    start(database, "wf")
    with database.read() as connection, pytest.raises(NotFoundError, match="no steps yet"):
        steps.run_steps(connection, "wf", 1, 1)


def test_paused_attempts_are_those_of_runs_that_go_on(database: Database, run: int) -> None:
    add_step(database, run, "c", "PAUSED")
    over = add_run(database, run, instance_id=2, uuid="two", status="STOPPED")
    add_step(database, over, "c", "PAUSED")
    with database.read() as connection:
        found = steps.paused_attempts(connection, "wf", "c")
    assert [(one["workflow_instance_id"], one["step_attempt_id"]) for one in found] == [(1, 1)]


@pytest.fixture
def loops(database: Database) -> int:
    """Three iterations of a loop, each with two of a loop inside it."""
    push_yaml(database, LOOP)
    root = start(database, "loops").run
    set_run(database, root, status="IN_PROGRESS")
    for x in (1, 2, 3):
        outer = add_run(
            database, root, workflow_id="maestro_foreach_o", instance_id=x, uuid=f"o{x}", inline=True,
            parent_run=root, parent_step="outer", params=evaluated(x=x * 10),
            status="FAILED" if x == 2 else "SUCCEEDED",
            request=json.dumps({"loop": {"workflow_id": "loops", "step_id": "outer"}}),
        )  # fmt: skip
        add_step(database, outer, "leaf", "USER_FAILED")
        add_step(database, outer, "leaf", "SUCCEEDED", attempt_id=2)
        for y in (1, 2):
            inner = add_run(
                database, root, workflow_id=f"maestro_foreach_i{x}", instance_id=y, uuid=f"i{x}{y}",
                inline=True, parent_run=outer, parent_step="inner", params=evaluated(y=y),
                request=json.dumps({"loop": {"workflow_id": "loops", "step_id": "inner"}}),
            )  # fmt: skip
            add_step(database, inner, "deep", "RUNNING")
    return root


PLACE = ("loops", 1, 1)


@pytest.mark.usefixtures("loops")
def test_iterations_of_a_loop_are_laid_flat(database: Database) -> None:
    with database.read() as connection:
        page = flatten.iterations_page(connection, PLACE, "outer", limit=2)
        assert [one["iteration_rank"] for one in page["elements"]] == ["1", "2"]
        assert page["page_info"]["has_next_page"]
        assert page["elements"][1]["loop_params"] == {"x": 20}
        assert page["elements"][1]["step_runtime_state"]["status"] == "FAILED"
        rest = flatten.iterations_page(connection, PLACE, "outer", cursor="2")
        assert [one["iteration_rank"] for one in rest["elements"]] == ["3"]
        failed = flatten.iterations_page(connection, PLACE, "outer", statuses=["failed"])
        assert [one["iteration_rank"] for one in failed["elements"]] == ["2"]
        summary = flatten.iterations_summary(connection, PLACE, "outer")
        assert summary["count_by_status"] == {"SUCCEEDED": 2, "FAILED": 1}
        assert summary["loop_param_values"] == {"x": ["10", "20", "30"]}


@pytest.mark.usefixtures("loops")
def test_a_step_inside_loops_is_shown_for_each_iteration(database: Database) -> None:
    with database.read() as connection:
        page = flatten.iterations_page(connection, PLACE, "deep", cursor="1-1")
        assert [one["iteration_rank"] for one in page["elements"]] == ["1-2", "2-1", "2-2", "3-1", "3-2"]
        assert page["elements"][1]["loop_params"] == {"x": 20, "y": 1}
        leaf = flatten.one_iteration(connection, PLACE, "leaf", "3")
        assert leaf["leaf_step_instance_ref"] == {
            "workflow_id": "maestro_foreach_o",
            "workflow_instance_id": 3,
            "workflow_run_id": 1,
            "step_id": "leaf",
            "step_attempt_id": 2,
        }
        assert flatten.iterations_summary(connection, PLACE, "leaf")["count_by_status"] == {"SUCCEEDED": 3}


def test_an_iteration_that_an_earlier_run_did_counts_for_a_later_one(database: Database, loops: int) -> None:
    set_run(database, loops, latest=False)
    add_run(database, loops, run_id=2, uuid="again", latest=True)
    with database.read() as connection:
        found = flatten.iterations_summary(connection, ("loops", 1, "latest"), "outer")
    assert found["total_count"] == 3


@pytest.mark.usefixtures("loops")
def test_an_iteration_knows_where_it_belongs(database: Database) -> None:
    with database.read() as connection:
        path = inline.inline_path(connection, "maestro_foreach_i2", 1)
        assert [(node["workflow_id"], node.get("step_id")) for node in path] == [
            ("loops", "outer"),
            ("maestro_foreach_o", "inner"),
            ("maestro_foreach_i2", None),
        ]
        assert list(runs.run_summary(connection, "maestro_foreach_i2", 1)["steps"]) == ["deep"]
        with pytest.raises(UsageError, match="no iteration"):
            inline.inline_path(connection, "loops", 1)


@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize(("step", "rank"), [("outer", "1-1"), ("deep", "1"), ("outer", "x")])
def test_a_rank_that_does_not_fit_is_refused(database: Database, step: str, rank: str) -> None:
    with database.read() as connection, pytest.raises(UsageError, match="found the iteration"):
        flatten.one_iteration(connection, PLACE, step, rank)


@pytest.mark.usefixtures("loops")
def test_an_iteration_or_a_loop_that_is_not_there_is_named(database: Database) -> None:
    with database.read() as connection:
        with pytest.raises(NotFoundError, match="no iteration 9"):
            flatten.one_iteration(connection, PLACE, "outer", "9")
        with pytest.raises(NotFoundError, match="no loop"):
            flatten.iterations_page(connection, PLACE, "nothing")
