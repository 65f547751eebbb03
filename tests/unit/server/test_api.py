"""The API without an engine: paths, bodies, answers, errors."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server import guards
from calve.settings import ApiSettings
from support.engine_rows import NOW, add_step, set_run

pytestmark = pytest.mark.slow

YAML = """
Workflow:
  id: wf
  n: 1
  jobs:
    - job: {id: a, type: NoOp}
    - job: {id: b, type: NoOp}
  dag: sequential
"""
DEFINITION: dict[str, Any] = {
    "properties": {"owner": "bob"},
    "workflow": {"id": "wf", "steps": [{"step": {"id": "a", "type": "NoOp"}}]},
}


@pytest.fixture
def pushed(api: TestClient) -> TestClient:
    assert api.post("/workflows/yaml", content=YAML).status_code == 200
    return api


def start(api: TestClient, **body: Any) -> dict[str, Any]:
    response = api.post("/workflows/wf/versions/latest/actions/start", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def refused(response: Any, status: int, code: str) -> dict[str, Any]:
    found: dict[str, Any] = response.json()
    assert (response.status_code, found["status"], found["code"]) == (status, status, code), found
    assert found["message"]
    assert found["remedy"]
    return found


def test_a_push_in_json_gives_the_version_back(api: TestClient) -> None:
    found = api.post("/workflows", json=DEFINITION).json()
    assert (found["workflow_id"], found["version"]) == ("wf", 1)
    stored = found["workflow_definition"]
    assert stored["metadata"]["version_author"] == {"name": "tester"}
    assert stored["properties_snapshot"]["owner"] == "bob"
    assert api.get("/workflows/wf/versions/latest").json() == stored
    assert api.post("/workflows", json=DEFINITION).json()["version"] == 2


@pytest.mark.parametrize(
    ("path", "content_type"),
    [("/workflows/yaml", "application/x-www-form-urlencoded"), ("/workflows", "application/yaml")],
)
def test_a_push_in_yaml_is_taken(api: TestClient, path: str, content_type: str) -> None:
    response = api.post(path, content=YAML, headers={"content-type": content_type})
    assert response.json()["workflow_definition"]["workflow"]["params"]["n"] == {"value": 1, "type": "LONG"}


def test_a_refused_push_names_every_problem_with_its_place(api: TestClient) -> None:
    text = YAML.replace("type: NoOp", "type: NoOpp", 1)
    found = refused(api.post("/workflows/yaml", content=text), 400, "STEP_TYPE_UNKNOWN")
    assert [(one["line"], one["did_you_mean"]) for one in found["errors"]] == [(6, "NoOp")]
    assert api.get("/workflows").json()["workflows"] == []


def test_a_batch_is_pushed_as_a_whole_or_not_at_all(api: TestClient) -> None:
    other = {"workflow": {**DEFINITION["workflow"], "id": "other"}}
    bad = {"workflow": {"id": "bad", "steps": []}}
    assert api.post("/workflows/batch", json=[DEFINITION, bad]).status_code == 400
    assert api.get("/workflows").json()["workflows"] == []
    found = api.post("/workflows/batch", json=[DEFINITION, other]).json()
    assert found == {"pushed": [{"workflow_id": "wf", "version": 1}, {"workflow_id": "other", "version": 1}]}
    refused(api.post("/workflows/batch", json=[]), 400, "PUSH_EMPTY")


def test_validate_checks_and_stores_nothing(api: TestClient) -> None:
    assert api.put("/workflows/actions/validate", json=DEFINITION).json()["type"] == "LOG"
    assert api.put("/workflows/actions/validate/yaml", content=YAML).status_code == 200
    assert api.put("/workflows/actions/validate", json={"workflow": {}}).status_code == 400
    assert api.get("/workflows").json()["workflows"] == []


def test_a_workflow_is_looked_at_from_all_sides(pushed: TestClient) -> None:
    assert pushed.get("/workflows", params={"search": "WF"}).json()["workflows"][0]["workflow_id"] == "wf"
    assert pushed.get("/workflows/wf/overview").json()["latest_version_id"] == 1
    assert len(pushed.get("/workflows/wf/timeline").json()["timeline_events"]) == 1
    page = pushed.get("/workflows/wf/versions/pagination", params={"first": 5}).json()
    assert [one["metadata"]["workflow_version_id"] for one in page["elements"]] == [1]
    refused(pushed.get("/workflows/wf/versions/pagination"), 400, "PAGE_INVALID")
    assert pushed.get("/workflows/wf/versions/active?enriched=true").json()["is_active"]


def test_properties_and_tags_are_changed(pushed: TestClient) -> None:
    body = {"run_strategy": "parallel", "step_concurrency": 7}
    found = pushed.post("/workflows/wf/properties", json=body).json()
    assert found["run_strategy"] == {"rule": "PARALLEL", "workflow_concurrency": 20}
    assert (found["step_concurrency"], found["snapshot_id"]) == (7, 2)
    found = pushed.post("/workflows/wf/properties", json={"reset_run_strategy_rule": True}).json()
    assert found["run_strategy"]["rule"] == "SEQUENTIAL"
    assert pushed.post("/workflows/wf/properties/tag", json={"name": "gold"}).json()["tags"] == ["gold"]
    assert "tags" not in pushed.delete("/workflows/wf/properties/tag/gold").json()
    refused(pushed.delete("/workflows/wf/properties/tag/gold"), 404, "TAG_NOT_FOUND")
    refused(pushed.post("/workflows/wf/properties", json={"ownr": "x"}), 400, "REQUEST_INVALID")
    assert pushed.get("/workflows/wf/properties-snapshot/1").json()["snapshot_id"] == 1


def test_a_version_is_activated_and_deactivated(pushed: TestClient) -> None:
    pushed.post("/workflows/yaml", content=YAML)
    found = pushed.put("/workflows/wf/versions/1/actions/activate").json()
    assert (found["workflow_version_id"], found["timeline_event"]["author"]) == (1, {"name": "tester"})
    assert pushed.put("/workflows/wf/actions/deactivate").json()["workflow_version_id"] == 1
    refused(pushed.post("/workflows/wf/versions/active/actions/start", json={}), 404, "WORKFLOW_NOT_ACTIVE")


def test_a_workflow_is_deleted_once_nothing_of_it_runs(pushed: TestClient) -> None:
    start(pushed)
    refused(pushed.delete("/workflows/wf"), 409, "WORKFLOW_BUSY")
    stopped = pushed.put("/workflows/wf/actions/stop")
    assert (stopped.status_code, stopped.json()["info"]) == (202, 1)
    assert pushed.delete("/workflows/wf").json()["action"] == "DELETE"
    refused(pushed.get("/workflows/wf/overview"), 404, "WORKFLOW_NOT_FOUND")


def test_a_start_takes_params_in_both_forms(pushed: TestClient) -> None:
    typed = start(pushed, initiator={"type": "manual"}, run_params={"n": {"value": 5, "type": "LONG"}})
    plain = start(pushed, run_params={"n": 6, "more": "x"})
    for started, expected in ((typed, 5), (plain, 6)):
        path = f"/workflows/wf/instances/{started['workflow_instance_id']}/runs/latest"
        assert pushed.get(path).json()["params"]["n"]["evaluated_result"] == expected
    assert (typed["status"], typed["workflow_run_id"], typed["workflow_version_id"]) == ("CREATED", 1, 1)


def test_a_start_with_the_same_request_id_is_the_same_instance(pushed: TestClient) -> None:
    first = start(pushed, request_id="5f1a0a3c-0a5f-4a57-9a3f-000000000001")
    again = start(pushed, request_id="5f1a0a3c-0a5f-4a57-9a3f-000000000001")
    assert (first["status"], again["status"]) == ("CREATED", "DUPLICATED")
    assert first["workflow_instance_id"] == again["workflow_instance_id"]


@pytest.mark.parametrize(
    "body",
    [
        {"params": {}},
        {"run_params": {"n": {"value": "x", "type": "LONG"}}},
        {"initiator": {"type": "nobody"}},
    ],
)
def test_a_start_that_makes_no_sense_is_refused(pushed: TestClient, body: dict[str, Any]) -> None:
    response = pushed.post("/workflows/wf/versions/latest/actions/start", json=body)
    assert response.status_code == 400
    assert response.json()["code"]


def test_instances_runs_and_steps_are_shown(pushed: TestClient, orchestrator: Orchestrator) -> None:
    start(pushed)
    set_run(orchestrator.database, 1, status="IN_PROGRESS", started_at=NOW)
    add_step(orchestrator.database, 1, "a", "SUCCEEDED")
    base = "/workflows/wf/instances"
    assert pushed.get(base, params={"last": 3}).json()["total_count"] == 1
    assert "aggregated_info" in pushed.get(f"{base}/1").json()
    assert "aggregated_info" in pushed.get(f"{base}/1/runs/latest", params={"aggregated": True}).json()
    assert pushed.get(f"{base}/1/runs", params={"first": 1}).json()["elements"][0]["workflow_run_id"] == 1
    assert pushed.get(f"{base}/1/runs/latest/summary").json()["steps"]["b"]["status"] == "NOT_CREATED"
    assert [step["step_id"] for step in pushed.get(f"{base}/1/steps").json()] == ["a"]
    assert pushed.get(f"{base}/1/steps/a").json()["runtime_state"]["status"] == "SUCCEEDED"
    assert len(pushed.get(f"{base}/1/runs/1/steps").json()) == 1
    assert pushed.get(f"{base}/1/runs/1/steps/a/attempts/latest").json()["step_attempt_id"] == 1
    assert pushed.get("/runs", params={"status": "in_progress"}).json()["runs"][0]["workflow_id"] == "wf"
    log = pushed.get(f"{base}/1/runs/1/steps/a/attempts/1/logs").json()
    assert (log["text"], log["complete"]) == ("", True)
    refused(pushed.get(f"{base}/1/runs/latest/steps"), 400, "REQUEST_INVALID")
    refused(pushed.get(f"{base}/1/inline-path"), 400, "NOT_INLINE")
    refused(pushed.get("/views/flatten/workflows/wf/instances/1/runs/1/steps/a"), 404, "STEP_NOT_FOUND")


def test_a_run_without_steps_answers_404_for_them(pushed: TestClient) -> None:
    start(pushed)
    refused(pushed.get("/workflows/wf/instances/1/runs/1/steps"), 404, "STEP_NOT_FOUND")


def test_a_queued_instance_is_stopped_and_restarted(pushed: TestClient) -> None:
    start(pushed)
    found = pushed.put("/workflows/wf/instances/1/actions/stop").json()
    assert (found["workflow_instance_status"], found["timeline_event"]["action"]) == ("STOPPED", "STOP")
    refused(pushed.put("/workflows/wf/instances/1/runs/1/actions/kill"), 422, "INSTANCE_OVER")
    body = {"restart_policy": "RESTART_FROM_BEGINNING", "run_params": {"n": {"value": 8, "type": "LONG"}}}
    again = pushed.post("/workflows/wf/instances/1/actions/restart", json=body).json()
    assert (again["workflow_run_id"], again["status"]) == (2, "CREATED")
    assert pushed.get("/workflows/wf/instances/1").json()["params"]["n"]["evaluated_result"] == 8
    refused(pushed.put("/workflows/wf/instances/1/runs/1/actions/stop"), 422, "RUN_NOT_LATEST")
    refused(pushed.post("/workflows/wf/instances/1/actions/restart", json={}), 422, "INSTANCE_NOT_OVER")


@pytest.mark.parametrize("body", [{"initiator": {"type": "manual"}}, {"restart_policy": "SOMEHOW"}])
def test_a_restart_takes_no_unknown_key_or_policy(pushed: TestClient, body: dict[str, Any]) -> None:
    start(pushed)
    refused(pushed.post("/workflows/wf/instances/1/actions/restart", json=body), 400, "REQUEST_INVALID")


def test_a_workflow_is_paused_resumed_and_unblocked(pushed: TestClient) -> None:
    for action in ("pause", "resume", "unblock"):
        assert pushed.put(f"/workflows/wf/actions/{action}").json()["action"] == action.upper()
    refused(pushed.put("/workflows/wf/actions/explode"), 400, "REQUEST_INVALID")


def test_actions_are_listed_by_status(api: TestClient) -> None:
    assert api.get("/workflows/instances/action-map").json()["FAILED"] == ["RESTART", "UNBLOCK"]
    steps = api.get("/workflows/steps/instances/action-map").json()
    assert "BYPASS_STEP_DEPENDENCIES" in steps["WAITING_FOR_SIGNALS"]
    assert steps["SUCCEEDED"] == ["RESTART"]


def test_breakpoints_are_set_listed_and_deleted(pushed: TestClient) -> None:
    place = {"workflow_id": "wf", "step_id": "a"}
    found = pushed.post("/workflows/steps/breakpoints", json=place).json()
    assert found["created_by"] == {"name": "tester"}
    refused(pushed.post("/workflows/steps/breakpoints", json=place), 409, "BREAKPOINT_EXISTS")
    query = {"workflowId": "wf", "stepId": "a"}
    assert pushed.get("/workflows/steps/breakpoints", params=query).json() == [found]
    assert pushed.get("/workflows/steps/breakpoints/paused-step-attempts", params=query).json() == []
    assert pushed.delete("/workflows/steps/breakpoints", params=query).status_code == 200
    refused(pushed.delete("/workflows/steps/breakpoints", params=query), 404, "BREAKPOINT_NOT_FOUND")
    bad = {**place, "workflow_version": "latest"}
    refused(pushed.post("/workflows/steps/breakpoints", json=bad), 400, "REQUEST_INVALID")


def test_signals_are_sent_once(api: TestClient) -> None:
    body = {"name": "db/schema/table", "params": {"date": 20240101, "who": "me"}, "rows": 3}
    first = api.post("/signals", json=body).json()
    assert (first["seq_id"], first["params"]) == (1, {"date": 20240101, "who": "me"})
    assert first["payload"] == {"rows": 3}
    again = refused(api.post("/signals", json=body), 409, "SIGNAL_DUPLICATE")
    assert again["seq_id"] == 1
    assert api.post("/signals", json={**body, "request_id": "2"}).json()["seq_id"] == 2
    assert api.get("/signals/db/schema/table/instances/latest").json()["seq_id"] == 2
    assert api.get("/signals/db%2Fschema%2Ftable/instances/1").json() == first
    refused(api.get("/signals/nothing/instances/latest"), 404, "SIGNAL_NOT_FOUND")


def test_templates_are_kept_in_versions(api: TestClient) -> None:
    template = {
        "owner": "bob",
        "status": "ok",
        "support": "chat",
        "definition": {
            "job_type": "greet",
            "step_type": "Shell",
            "version": "default",
            "params": {"script": {"value": "echo hi", "type": "STRING"}},
        },
    }
    assert api.post("/job-templates", json=template).json() == template
    assert api.get("/job-templates").json() == [template]
    assert api.get("/job-templates/greet", params={"version": "default"}).json() == template
    types = {(one["name"], one["version"]): one for one in api.get("/job-types").json()["job_types"]}
    assert types["greet", "default"]["template_of"] == "Shell"
    assert types["Shell", None]["template_of"] is None
    text = YAML.replace("type: NoOp", "type: greet", 1)
    assert api.post("/workflows/yaml", content=text).status_code == 200
    assert api.delete("/job-templates/greet").status_code == 200
    refused(api.get("/job-templates/greet"), 404, "TEMPLATE_NOT_FOUND")
    yaml = "owner: bob\nstatus: ok\nsupport: chat\ndefinition: {job_type: g2, step_type: NoOp, version: v1}\n"
    assert api.post("/job-templates/yaml", content=yaml).json()["definition"]["job_type"] == "g2"
    refused(api.post("/job-templates", content="{"), 400, "JSON_SYNTAX")
    refused(api.post("/job-templates", content="[]"), 400, "TEMPLATE_INVALID")


def test_tag_permits_are_set_read_and_deleted(api: TestClient) -> None:
    assert api.post("/tag-permits", json={"tag": "a/b:c", "max_allowed": 3}).status_code == 200
    assert api.get("/tag-permits/a/b:c").json() == {"tag": "a/b:c", "max_allowed": 3}
    assert api.delete("/tag-permits/a/b:c").status_code == 200
    refused(api.get("/tag-permits/a/b:c"), 404, "PERMIT_NOT_FOUND")
    refused(api.post("/tag-permits", json={"tag": "x", "max_allowed": -1}), 400, "PERMIT_INVALID")


def test_output_data_is_kept(api: TestClient) -> None:
    body = {"external_job_type": "KUBERNETES", "external_job_id": "j1", "params": {"n": {"value": 1}}}
    assert api.put("/output-data", json=body).status_code == 200
    assert api.put("/output-data", json={**body, "params": {}}).status_code == 200
    refused(api.put("/output-data", json={}), 400, "REQUEST_INVALID")


def test_health_says_whether_an_engine_is_there(api: TestClient) -> None:
    found = api.get("/health").json()
    assert (found["status"], found["engine_alive"]) == ("ok", False)


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing/here", 404, "ROUTE_NOT_FOUND"),
        ("PATCH", "/workflows", 405, "METHOD_NOT_ALLOWED"),
        ("GET", "/workflows/wf/instances/x", 400, "REQUEST_INVALID"),
        ("GET", "/workflows/wf/overview", 404, "WORKFLOW_NOT_FOUND"),
        ("GET", "/workflows?limit=0", 400, "PAGE_INVALID"),
        ("GET", "/events?after=x", 400, "REQUEST_INVALID"),
        ("GET", f"/workflows/wf/instances/{2**64}", 400, "REQUEST_INVALID"),
        ("GET", f"/workflows/wf/versions/{2**64}", 404, "WORKFLOW_NOT_FOUND"),
        ("GET", f"/workflows/wf/versions/pagination?first=1&cursor={2**64}", 400, "PAGE_INVALID"),
    ],
)
def test_every_error_has_one_form(api: TestClient, method: str, path: str, status: int, code: str) -> None:
    refused(api.request(method, path), status, code)


def test_a_body_that_is_no_json_is_refused(pushed: TestClient) -> None:
    response = pushed.post(
        "/workflows/wf/versions/latest/actions/start",
        content="{",
        headers={"content-type": "application/json"},
    )
    refused(response, 400, "REQUEST_INVALID")


def test_a_body_over_the_limit_is_refused(api: TestClient) -> None:
    big = b"x" * (guards.BODY_LIMIT + 1)
    refused(api.post("/workflows/yaml", content=big), 413, "BODY_TOO_BIG")
    refused(api.post("/workflows/yaml", content=iter([big[:10], big])), 413, "BODY_TOO_BIG")


def test_a_defect_is_told_without_a_traceback(
    pushed: TestClient, orchestrator: Orchestrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_arguments: object) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(orchestrator, "start", lose)
    response = pushed.post("/workflows/wf/versions/latest/actions/start", json={})
    found = refused(response, 500, "INTERNAL")
    assert "lost" not in response.text
    assert "KeyError" in found["message"]


def test_a_token_is_asked_for_where_one_is_set(orchestrator: Orchestrator) -> None:
    from calve.server.app import PREFIX, create_app

    api_settings = ApiSettings.model_validate({"token": "s3cret"})
    orchestrator.settings = orchestrator.settings.model_copy(update={"api": api_settings})
    api = TestClient(create_app(orchestrator), base_url=f"http://localhost{PREFIX}")
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic s3cret"}):
        refused(api.get("/workflows", headers=headers), 401, "TOKEN_WRONG")
    assert api.get("/workflows", headers={"authorization": "Bearer s3cret"}).status_code == 200
    assert api.get("/health").status_code == 200


def test_the_paths_describe_themselves(api: TestClient) -> None:
    schema = api.get("http://localhost/openapi.json").json()
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path}"
