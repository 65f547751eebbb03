from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from calve.state.database import Database
from calve.state.orchestration import runs
from support.engine_rows import push_jobs, push_yaml

pytestmark = pytest.mark.slow

TYPED = """
Workflow:
  id: wf
  day: 20240101
  region: eu
  ratio: 0.5
  dry: false
  regions: [eu, us]
  limits: {eu: "10"}
  '!next<long>': day + 1;
  jobs:
    - job: {id: a, type: NoOp}
"""


def started(database: Database) -> dict[str, Any]:
    """The params that the only run was started with, by name."""
    with database.read() as connection:
        row = connection.execute(select(runs)).one()
    params: dict[str, Any] = json.loads(row.params)
    return {name: one.get("value") for name, one in params.items() if one.get("source") == "LAUNCH"}


def test_a_form_has_a_field_for_each_param_with_its_type_and_default(
    browser: TestClient, twins: TestClient, database: Database
) -> None:
    push_yaml(database, TYPED)
    fields = {one["name"]: one for one in twins.get("/workflows/wf/start").json()["fields"]}
    assert {name: (one["type"], one["text"]) for name, one in fields.items()} == {
        "day": ("LONG", "20240101"),
        "region": ("STRING", "eu"),
        "ratio": ("DOUBLE", "0.5"),
        "dry": ("BOOLEAN", "false"),
        "regions": ("STRING_ARRAY", '["eu", "us"]'),
        "limits": ("STRING_MAP", '{"eu": "10"}'),
        "next": ("LONG", ""),
    }
    page = browser.get("/workflows/wf/start").text
    assert 'name="param.day" value="20240101"'.replace(" ", "") in page.replace(" ", "")
    assert "<code>day + 1;</code>" in page
    assert "No engine is there to run it" in page


def test_what_is_typed_is_read_by_type_and_the_rest_keeps_its_default(
    browser: TestClient, database: Database
) -> None:
    push_yaml(database, TYPED)
    answer = browser.post(
        "/workflows/wf/start",
        data={
            "param.day": "20240505",
            "param.region": "eu",
            "param.ratio": "",
            "param.dry": "true",
            "param.regions": '["asia"]',
            "param.limits": '{"eu": "10"}',
            "param.next": "",
        },
    )
    assert answer.status_code == 303
    assert answer.headers["location"] == "/workflows/wf/instances/1?told=Started."
    assert started(database) == {"day": 20240505, "dry": True, "regions": ["asia"]}


def test_an_emptied_text_is_an_empty_text(browser: TestClient, database: Database) -> None:
    push_yaml(database, TYPED)
    browser.post("/workflows/wf/start", data={"param.region": ""})
    assert started(database) == {"region": ""}


def test_a_wrong_value_shows_the_form_again_with_what_was_typed(
    browser: TestClient, database: Database
) -> None:
    push_yaml(database, TYPED)
    page = browser.post(
        "/workflows/wf/start", data={"param.day": "to<b>day", "param.region": "asia", "request_id": "r-1"}
    )
    assert page.status_code == 400
    assert "to&lt;b&gt;day" in page.text
    assert 'value="asia"' in page.text
    assert 'value="r-1"' in page.text
    assert 'aria-describedby="error-param.day"' in page.text
    assert "LONG" in page.text
    with database.read() as connection:
        assert connection.execute(select(runs)).first() is None


@pytest.mark.parametrize("depth", [100, 400, 3_000])
def test_a_map_that_is_nested_without_end_is_an_answer_and_no_defect(
    browser: TestClient, database: Database, depth: int
) -> None:
    push_yaml(database, "Workflow: {id: wf, m: {a: {b: 1}}, jobs: [{job: {id: a, type: NoOp}}]}")
    page = browser.post("/workflows/wf/start", data={"param.m": "{a: " * depth + "[" + "}" * depth})
    assert page.status_code == 400
    deep = browser.post("/workflows/wf/start", data={"param.m": "{a: " * depth + "1" + "}" * depth})
    assert deep.status_code in (303, 400)
    assert browser.get(deep.headers.get("location", "/workflows/wf")).status_code == 200


def test_a_form_that_is_sent_twice_starts_once(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    for told in ("Started.", "It+was+started+before."):
        answer = browser.post("/workflows/wf/start", data={"request_id": "one"})
        assert answer.headers["location"] == f"/workflows/wf/instances/1?told={told}"


def test_another_version_may_be_started(browser: TestClient, database: Database) -> None:
    push_jobs(database, "wf", "a")
    push_jobs(database, "wf", "a", "b")
    assert 'name="version" value="1"' in browser.get("/workflows/wf/start?version=1").text
    browser.post("/workflows/wf/start", data={"version": "1"})
    with database.read() as connection:
        assert connection.execute(select(runs.c.version)).scalar_one() == 1


@pytest.mark.parametrize("method", ["get", "post"])
def test_an_unknown_workflow_gives_a_page_that_says_so(browser: TestClient, method: str) -> None:
    page = browser.request(method, "/workflows/none/start")
    assert page.status_code == 404
    assert "there is no workflow" in page.text
