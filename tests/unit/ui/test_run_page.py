"""The page of a run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import insert

from calve.lake.model import Changes, ColumnRange, Exactness, Mode, Segment
from calve.ledger.options import CaptureOptions
from calve.ledger.records import request_json
from calve.state.database import Database
from calve.state.schema import captures, chains, sources
from support.engine_rows import NOW, add_run, add_step, evaluated, push_jobs, push_yaml, set_run, start

pytestmark = pytest.mark.slow

BRANCHES = """
Workflow:
  id: wf
  rows: 7
  jobs:
    - job: {id: a, type: NoOp}
    - foreach: {id: loop, params: {x: [1, 2]}, jobs: [{job: {id: leaf, type: NoOp}}]}
    - job: {id: c, type: NoOp}
  dag: {a: [IF rows > 3 THEN loop, c]}
"""
HERE = "/workflows/wf/instances/1"


@pytest.fixture
def run(database: Database) -> int:
    """A run under way: a is done, the loop runs, c failed once and is tried again."""
    push_yaml(database, BRANCHES)
    key = start(database, "wf", author="ada").run
    set_run(database, key, status="IN_PROGRESS", started_at=NOW + 10)
    add_step(database, key, "a", "SUCCEEDED", started_at=NOW + 1_000, ended_at=NOW + 4_000)
    handle = {"total": 10, "next": 4, "active": 2, "ended": {"SUCCEEDED": 3}}
    progress = {"message": "3 of 10 iterations", "fraction": 0.3}
    add_step(
        database, key, "loop", "RUNNING",
        started_at=NOW, handle=json.dumps(handle), progress=json.dumps(progress),
    )  # fmt: skip
    error = json.dumps({"code": "X", "message": "it broke <script>alert(1)</script>"})
    add_step(database, key, "c", "USER_FAILED", error=error, ended_at=NOW + 9)
    add_step(database, key, "c", "WAITING_FOR_SIGNALS", attempt_id=2)
    return key


def model(twins: TestClient, path: str = HERE) -> dict[str, Any]:
    answer = twins.get(path)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.usefixtures("run")
def test_the_page_shows_status_starter_steps_and_the_version(browser: TestClient) -> None:
    text = browser.get(HERE).text
    assert "in progress" in text
    assert "ada, by hand" in text
    assert 'href="/workflows/wf/definition?version=1"' in text
    assert f'href="{HERE}/steps/loop?run=1"' in text
    assert 'data-events="/api/v3/events?workflow_id=wf&amp;instance_id=1"' in text
    assert "<progress" in text
    assert "calve runs wf 1" in text


@pytest.mark.usefixtures("run")
def test_the_graph_has_notes_and_the_conditions_of_edges(browser: TestClient, twins: TestClient) -> None:
    graph = model(twins)["graph"]
    assert graph["facts"]["a"]["note"] == "succeeded · 3.0 s"
    assert graph["facts"]["loop"]["note"] == "running · 3 of 10"
    conditions = {(line["source"], line["target"]): line["condition"] for line in graph["picture"]["lines"]}
    assert conditions == {("a", "loop"): "rows > 3", ("a", "c"): ""}
    assert "a → loop, if rows &gt; 3" in browser.get(HERE).text


@pytest.mark.usefixtures("run")
def test_the_timeline_tells_waiting_queued_and_running_apart(twins: TestClient) -> None:
    rows = {row["id"]: row["bars"] for row in model(twins)["timeline"]["rows"]}
    assert [bar["kind"] for bar in rows[""]] == ["queued", "running"]
    assert [bar["kind"] for bar in rows["loop"]] == ["waiting", "running"]
    assert [(bar["kind"], bar["attempt"], bar["is_live"]) for bar in rows["c"]] == [
        ("waiting", 1, False),
        ("waiting", 2, False),
        ("queued", 2, True),
    ]


@pytest.mark.usefixtures("run")
def test_what_people_and_steps_wrote_is_shown_as_text(browser: TestClient, database: Database) -> None:
    set_run(database, 1, params=evaluated(note="<script>alert(2)</script>"))
    text = browser.get(HERE).text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(2)" in text


def test_a_long_run_in_the_queue_does_not_hide_what_came_after(
    run: int, database: Database, twins: TestClient
) -> None:
    set_run(database, run, created_at=NOW - 10**9, started_at=NOW, ended_at=NOW + 5_000, status="FAILED")
    assert model(twins)["timeline"]["begin"] == NOW


def test_a_run_in_the_queue_has_no_timeline_and_says_why(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    start(database, "wf")
    text = browser.get(HERE).text
    assert "It waits in the queue of its workflow." in text
    assert "not begun" in text


def test_failed_steps_stand_before_everything_else(run: int, database: Database, twins: TestClient) -> None:
    error = json.dumps({"code": "X", "message": "first line\nsecond\nlast line\n"})
    add_step(database, run, "c", "FATALLY_FAILED", attempt_id=3, error=error)
    (failed,) = model(twins)["failed"]
    assert (failed["id"], failed["error"]) == ("c", {"code": "X", "message": "first line … last line"})


def test_every_run_of_an_instance_has_its_own_page(run: int, database: Database, twins: TestClient) -> None:
    set_run(database, run, status="FAILED", latest=False, ended_at=NOW + 1)
    again = add_run(
        database, run, run_id=2, uuid="u2", latest=True, status="IN_PROGRESS",
        request=json.dumps({"policy": "RESTART_FROM_INCOMPLETE"}),
    )  # fmt: skip
    add_step(database, again, "a", "SUCCEEDED", carried=True)
    newest, first = model(twins), model(twins, f"{HERE}/runs/1")
    assert (newest["run"]["run_id"], first["run"]["run_id"]) == (2, 1)
    assert newest["start"]["restart"] == "restarted with what was incomplete"
    assert [one["run_id"] for one in newest["runs"]] == [2, 1]
    assert first["buttons"] == []
    rows = {row["id"]: row["bars"] for row in newest["timeline"]["rows"]}
    assert rows["a"] == []


def test_an_iteration_says_where_it_belongs(run: int, database: Database, browser: TestClient) -> None:
    request = json.dumps({"loop": {"workflow_id": "wf", "step_id": "loop"}})
    add_run(
        database, run, workflow_id="maestro_foreach_1", instance_id=3, inline=True, uuid="i", request=request,
        parent_run=run, parent_step="loop", initiator=json.dumps({"type": "FOREACH"}),
    )  # fmt: skip
    text = browser.get("/workflows/maestro_foreach_1/instances/3").text
    assert "Iteration 3" in text
    assert f'href="{HERE}/steps/loop?run=1"' in text
    assert "iteration 3 of loop in wf #1" in text.replace("<wbr>", "")
    assert "leaf" in text


def test_a_backfill_and_a_schedule_are_named(run: int, database: Database, twins: TestClient) -> None:
    scope = {"backfill_id": 9, "stage": 1, "chunk": 4, "round": 2}
    set_run(database, run, initiator=json.dumps({"type": "BACKFILL", "backfill": scope}))
    begun = model(twins)["start"]
    assert (begun["words"], begun["href"]) == ("backfill 9, stage 1, chunk 4, round 2", "/backfills/9")
    set_run(database, run, initiator=json.dumps({"type": "TIME", "trigger_time": NOW}))
    begun = model(twins)["start"]
    assert (begun["words"], begun["at"]) == ("its schedule", NOW)


@pytest.mark.usefixtures("run")
def test_captures_of_the_instance_are_shown_with_what_they_hold(
    browser: TestClient, database: Database
) -> None:
    bounds = {"day": ColumnRange("2024-01-02", "2024-01-05", Exactness.INEXACT, False, None)}
    changes = Changes(
        table="lake.db.t", table_uuid="u", branch="main", mode=Mode.APPEND, segments=(Segment(None, 7),),
        has_changes=True, icdc_table=None, icdc_metadata_location=None, removed_table=None,
        removed_metadata_location=None, row_filter=None, files=3, records=1_234, bytes=5_600_000,
        removed_files=0, removed_records=0, removed_bytes=0, operations={}, skipped_operations={},
        ranges=bounds, partitions=(),
    )  # fmt: skip
    place = {"table_uuid": "u", "branch": "main", "table_name": "lake.db.t"}
    with database.write() as connection:
        connection.execute(
            insert(chains).values(
                id=1, consumer="wf/a", version=1, known=True, links="[]", updated_at=NOW, **place
            )
        )
        request = request_json(CaptureOptions(), None, [])
        connection.execute(
            insert(captures).values(
                id="cap-1", consumer="wf/a", status="open", owner="wf/1/1", run_ref="wf/1/a", keep=False,
                created_at=NOW, ready_at=NOW, request=json.dumps(request),
            )
        )  # fmt: skip
        connection.execute(
            insert(sources).values(
                capture_id="cap-1", ordinal=0, chain_id=1, segments="[[null, 7]]",
                result=json.dumps(changes.to_json()), **place,
            )
        )  # fmt: skip
    text = browser.get(HERE).text
    assert 'href="/captures/cap-1"' in text
    assert 'href="/tables/lake.db.t"' in text
    assert "+1,234" in text
    assert "+5.6 MB" in text
    assert "<code>2024-01-02</code> … <code>2024-01-05</code>" in text


@pytest.mark.usefixtures("run")
def test_params_have_a_type_a_value_and_a_source(twins: TestClient) -> None:
    param = next(one for one in model(twins)["params"] if one["name"] == "rows")
    assert (param["type"], param["value"], param["source_words"]) == ("LONG", 7, "definition")


@pytest.mark.parametrize(
    "path", ["/workflows/gone/instances/1", HERE + "/runs/7", "/workflows/wf/instances/9"]
)
@pytest.mark.usefixtures("run")
def test_what_is_not_there_is_a_page_with_404(browser: TestClient, path: str) -> None:
    page = browser.get(path)
    assert page.status_code == 404
    assert "<h1>" in page.text


def test_200_steps_are_all_drawn_and_listed(database: Database, browser: TestClient) -> None:
    names = [f"step_{number}" for number in range(200)]
    push_jobs(database, "wf", *names)
    start(database, "wf")
    text = browser.get(HERE).text
    assert text.count('class="node ') == 200
    assert "200 steps" in text
