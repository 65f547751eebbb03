"""The API with a real server and a real engine: what a Maestro client does, from push to delete."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.serving import eventually

pytestmark = pytest.mark.slow

YAML = """
Workflow:
  id: sample
  owner: tester
  x: 3
  jobs:
    - job: {id: job1, type: NoOp, '!y<long>': "x + 1"}
    - job: {id: job2, type: Shell, script: "echo x is $x"}
    - job: {id: job3, type: NoOp}
  dag: sequential
"""
LONG = """
Workflow:
  id: long
  owner: tester
  jobs:
    - job: {id: first, type: NoOp}
    - job: {id: sleep, type: Sleep, sleep_seconds: 600}
    - job: {id: last, type: NoOp}
  dag: sequential
"""
WAITING = """
Workflow:
  id: waiting
  owner: tester
  jobs:
    - job:
        id: held
        type: NoOp
        signal_dependencies:
          - name: go
"""


def push(http: httpx2.Client, text: str) -> None:
    http.post("/workflows/yaml", content=text).raise_for_status()


def start(http: httpx2.Client, workflow_id: str, **body: Any) -> str:
    """Start an instance; the path of its run."""
    response = http.post(f"/workflows/{workflow_id}/versions/latest/actions/start", json=body)
    found = response.raise_for_status().json()
    return (
        f"/workflows/{workflow_id}/instances/{found['workflow_instance_id']}/runs/{found['workflow_run_id']}"
    )


def until_step(http: httpx2.Client, run: str, step_id: str, status: str) -> dict[str, Any]:
    """Wait until a step of a run has a status."""

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = http.get(f"{run}/summary").json()["steps"][step_id]
        return found if found["status"] == status else None

    return eventually(look, f"{step_id} {status}")


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_way_of_a_workflow_with_curl(http: httpx2.Client, tmp_path: Path) -> None:
    base = str(http.base_url).rstrip("/")

    def curl(*arguments: str) -> Any:
        command = ["curl", "--silent", "--show-error", "--header", "user: tester", *arguments]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    (tmp_path / "sample.yaml").write_text(YAML)
    pushed = curl("-X", "POST", f"{base}/workflows/yaml", "--data-binary", f"@{tmp_path}/sample.yaml")
    assert pushed["workflow_definition"]["metadata"]["workflow_version_id"] == 1
    assert curl(f"{base}/workflows/sample/versions/latest")["workflow"]["id"] == "sample"
    started = curl(
        *("-X", "POST", f"{base}/workflows/sample/versions/latest/actions/start"),
        *("-H", "Content-Type: application/json", "-d", '{"initiator": {"type": "manual"}}'),
    )
    assert started["status"] == "CREATED"
    run = f"{base}/workflows/sample/instances/1/runs/1"
    eventually(lambda: curl(run)["status"] == "SUCCEEDED", "the end of the run")
    assert curl(f"{run}/steps/job1/attempts/latest")["params"]["y"]["evaluated_result"] == 4
    assert curl("-X", "DELETE", f"{base}/workflows/sample")["type"] == "ACTION"
    assert curl(f"{base}/workflows/sample/overview")["status"] == 404


def test_a_run_is_followed_to_its_end(http: httpx2.Client, until_over: Any) -> None:
    push(http, YAML)
    run = start(http, "sample", run_params={"x": {"value": 5, "type": "LONG"}})
    found = until_over(run)
    assert found["status"] == "SUCCEEDED"
    assert found["runtime_overview"]["step_overview"] == {"SUCCEEDED": {"cnt": 3}}
    summary = http.get(f"{run}/summary").json()
    assert summary["steps"]["job1"]["params"]["y"] == 6
    log = http.get("/workflows/sample/instances/1/steps/job2/logs").json()
    assert (log["text"], log["complete"]) == ("x is 5\n", True)
    state = http.get(f"{run}/steps/job2/attempts/1").json()["runtime_state"]
    assert state["create_time"] <= state["start_time"] <= state["execute_time"] <= state["end_time"]


def test_an_instance_is_stopped_and_restarted_from_where_it_was(http: httpx2.Client, until_over: Any) -> None:
    push(http, LONG)
    run = start(http, "long")
    until_step(http, run, "sleep", "RUNNING")
    http.put("/workflows/long/instances/1/actions/stop").raise_for_status()
    assert until_over(run)["status"] == "STOPPED"
    again = http.post("/workflows/long/instances/1/actions/restart", json={}).json()
    assert (again["workflow_run_id"], again["status"]) == (2, "CREATED")
    second = "/workflows/long/instances/1/runs/2"
    until_step(http, second, "sleep", "RUNNING")
    assert http.get(f"{second}/steps/first/attempts/latest").json()["carried"] is True
    skipped = http.put("/workflows/long/instances/1/steps/sleep/actions/skip").json()
    assert skipped["step_id"] == "sleep"
    assert until_over(second)["status"] == "SUCCEEDED"
    statuses = {name: step["status"] for name, step in http.get(f"{second}/summary").json()["steps"].items()}
    assert statuses == {"first": "SUCCEEDED", "sleep": "SKIPPED", "last": "SUCCEEDED"}


def test_a_killed_step_fails_its_instance(http: httpx2.Client, until_over: Any) -> None:
    push(http, LONG)
    run = start(http, "long")
    until_step(http, run, "sleep", "RUNNING")
    http.put("/workflows/long/instances/1/steps/sleep/actions/kill").raise_for_status()
    assert until_over(run)["status"] == "FAILED"
    answer = http.post("/workflows/long/instances/1/steps/sleep/actions/restart", json={}).json()
    assert answer["workflow_run_id"] == 2
    until_step(http, "/workflows/long/instances/1/runs/2", "sleep", "RUNNING")
    assert http.put("/workflows/long/actions/kill").json()["info"] == 1
    assert until_over("/workflows/long/instances/1/runs/2")["status"] == "FAILED"


def test_a_breakpoint_holds_a_step_until_it_is_let_go(http: httpx2.Client, until_over: Any) -> None:
    push(http, YAML)
    http.post("/workflows/steps/breakpoints", json={"workflow_id": "sample", "step_id": "job3"})
    run = start(http, "sample")
    until_step(http, run, "job3", "PAUSED")
    query = {"workflowId": "sample", "stepId": "job3"}
    held = http.get("/workflows/steps/breakpoints/paused-step-attempts", params=query).json()
    assert [one["workflow_instance_id"] for one in held] == [1]
    path = (
        f"/workflows/steps/breakpoints{run.removeprefix('/workflows')}/steps/job3/attempts/1/actions/resume"
    )
    assert http.put(path).json()["step_id"] == "job3"
    assert until_over(run)["status"] == "SUCCEEDED"
    second = start(http, "sample")
    until_step(http, second, "job3", "PAUSED")
    assert http.delete("/workflows/steps/breakpoints", params=query).status_code == 200
    assert until_over(second)["status"] == "SUCCEEDED"


def test_a_step_waits_for_its_signal_or_bypasses_it(http: httpx2.Client, until_over: Any) -> None:
    push(http, WAITING)
    run = start(http, "waiting")
    until_step(http, run, "held", "WAITING_FOR_SIGNALS")
    http.put("/workflows/waiting/instances/1/steps/held/actions/bypass").raise_for_status()
    assert until_over(run)["status"] == "SUCCEEDED"
    second = start(http, "waiting")
    until_step(http, second, "held", "WAITING_FOR_SIGNALS")
    http.post("/signals", json={"name": "go"}).raise_for_status()
    assert until_over(second)["status"] == "SUCCEEDED"


def test_a_paused_instance_begins_no_further_step(http: httpx2.Client, until_over: Any) -> None:
    push(http, LONG)
    run = start(http, "long")
    until_step(http, run, "sleep", "RUNNING")
    http.put("/workflows/long/instances/1/actions/pause").raise_for_status()
    http.put("/workflows/long/instances/1/steps/sleep/actions/skip").raise_for_status()
    until_step(http, run, "last", "PAUSED")
    http.put("/workflows/long/instances/1/actions/resume").raise_for_status()
    assert until_over(run)["status"] == "SUCCEEDED"


def test_the_iterations_of_a_loop_are_laid_flat(http: httpx2.Client, until_over: Any) -> None:
    push(
        http,
        "Workflow:\n  id: loop\n  jobs:\n    - foreach:\n        id: each\n        params: {x: [1, 2, 3]}\n"
        "        jobs:\n          - job: {id: inner, type: NoOp, '!y<long>': x * 10}\n",
    )
    run = start(http, "loop")
    assert until_over(run)["status"] == "SUCCEEDED"
    flat = http.get(f"/views/flatten{run}/steps/each").json()
    assert [one["loop_params"]["x"] for one in flat["elements"]] == [1, 2, 3]
    summary = http.get(f"/views/flatten{run}/steps/inner/summary").json()
    assert summary["count_by_status"] == {"SUCCEEDED": 3}
    inline = flat["elements"][1]["leaf_step_instance_ref"]
    path = http.get(f"/workflows/{inline['workflow_id']}/instances/2/inline-path").json()
    assert [node["workflow_id"] for node in path] == ["loop", inline["workflow_id"]]
    asked = [{"workflow_id": "loop", "instance_id": 1, "step_id": "each"}, {"instance_id": 2}]
    found = http.request("GET", "/workflows/instances/inline-workflow-id", json=asked).json()
    assert found == inline["workflow_id"]
