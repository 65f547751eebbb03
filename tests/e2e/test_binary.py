"""The command as a process of its own: exit codes, JSON, signals."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.serving import eventually

pytestmark = pytest.mark.slow

GOOD = """
Workflow:
  id: good
  who: you
  jobs:
    - job: {id: greet, type: Shell, script: "echo hello $who"}
"""
BAD = """
Workflow:
  id: bad
  jobs:
    - job: {id: break, type: Shell, script: "echo before; exit 3", retry_policy: {error_retry_limit: 0}}
"""
LONG = """
Workflow:
  id: long
  jobs:
    - job: {id: sleep, type: Sleep, sleep_seconds: 600}
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, text in (("good", GOOD), ("bad", BAD), ("long", LONG)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return ["good.yaml", "bad.yaml", "long.yaml"]


@pytest.fixture
def dev(calve: Any, files: list[str]) -> Iterator[str]:
    """`calve dev` on a free port; its URL."""
    process = calve.begin("dev", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, ""), out


def test_a_run_without_a_server_runs_here(calve: Any, files: list[str]) -> None:
    assert [one["version"] for one in calve("push", *files)["pushed"]] == [1, 1, 1]
    found = calve("run", "good", "who=me", "--wait")
    assert (found["status"], found["steps"]["greet"]["params"]["script"]) == ("SUCCEEDED", "echo hello me")
    assert calve("logs", "good", "1", "greet")["text"] == "hello me\n"
    failed = calve("run", "bad", "--wait", exits=1)
    assert failed["status"] == "FAILED"
    assert failed["steps"]["break"]["status"] == "FATALLY_FAILED"
    assert "before" in calve("logs", "bad", "1", "break", "--tail", "5")["text"]
    assert calve("run", "nothing", "--wait", exits=2)["code"] == "WORKFLOW_NOT_FOUND"


def test_what_was_queued_is_run_by_the_next_engine(calve: Any, files: list[str]) -> None:
    calve("push", "good.yaml")
    assert calve("run", "good")["engine_alive"] is False
    assert calve("run", "good", "--wait")["status"] == "SUCCEEDED"
    assert calve("runs", "good", "1")["status"] == "SUCCEEDED"


def test_a_run_over_a_server_is_waited_for(calve: Any, dev: str) -> None:
    calve("push", "good.yaml", "bad.yaml", "--server", dev)
    found = calve("run", "good", "--wait", "--server", dev)
    assert found["status"] == "SUCCEEDED"
    assert found["link"] == f"{dev}/workflows/good/instances/1"
    assert calve("run", "bad", "--wait", "--server", dev, exits=1)["status"] == "FAILED"
    # The engine of `calve dev` also runs what comes without the server.
    assert calve("run", "good", "--wait")["instance_id"] == 2


def test_ctrl_c_while_waiting_leaves_the_run_going(calve: Any, dev: str) -> None:
    calve("push", "long.yaml", "--server", dev)
    process = calve.begin("run", "long", "--wait", "--server", dev)

    def status() -> str:
        return str(calve("runs", "long", "1", "--server", dev)["steps"]["sleep"]["status"])

    assert process.stdout is not None
    assert "/workflows/long/instances/1" in process.stdout.readline()
    eventually(lambda: status() == "RUNNING", "the step")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "calve stop long 1" in err
    assert status() == "RUNNING"
    calve("stop", "long", "1", "--server", dev)
    eventually(lambda: status() == "STOPPED", "the stop")


def test_ctrl_c_with_an_engine_of_its_own_leaves_the_run_to_the_next_one(calve: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    (tmp_path / "good.yaml").write_text(
        GOOD.replace("echo hello $who", f"while [ ! -e {go} ]; do sleep 0.1; done; echo went on")
    )
    calve("push", "good.yaml")
    process = calve.begin("run", "good", "--wait")
    assert process.stdout is not None
    lines = iter(process.stdout.readline, "")
    assert any("RUNNING" in line for line in lines)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the run waits for an engine" in err
    assert calve("runs", "good", "1")["status"] == "IN_PROGRESS"
    go.touch()
    assert calve("run", "good", "--wait")["status"] == "SUCCEEDED"
    assert calve("runs", "good", "1")["status"] == "SUCCEEDED"
    assert calve("logs", "good", "1", "greet")["text"] == "went on\n"


def test_a_log_is_followed_to_its_end(calve: Any, dev: str, tmp_path: Path) -> None:
    script = "echo one; while [ ! -e go ]; do sleep 0.1; done; echo two"
    text = GOOD.replace("echo hello $who", script.replace("go", str(tmp_path / "go")))
    (tmp_path / "good.yaml").write_text(text)
    calve("push", "good.yaml", "--server", dev)
    calve("run", "good", "--server", dev)
    eventually(lambda: calve("runs", "good", "1")["steps"]["greet"]["status"] == "RUNNING", "the step")
    process = calve.begin("logs", "good", "1", "greet", "-f", "--server", dev)
    assert process.stdout is not None
    assert process.stdout.readline() == "one\n"
    (tmp_path / "go").touch()
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == ("two\n", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_worker_ends_cleanly(calve: Any, number: signal.Signals) -> None:
    process = calve.begin("worker", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["role"] == "worker"
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")


def test_a_server_elsewhere_needs_a_token(calve: Any) -> None:
    assert calve("server", "--host", "0.0.0.0", "--port", "0", exits=2)["code"] == "TOKEN_REQUIRED"


def test_a_server_with_a_token_serves_those_who_have_it(calve: Any, files: list[str]) -> None:
    calve.environment["CALVE_API__TOKEN"] = "s3cret"
    process = calve.begin("server", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert calve("push", "good.yaml", "--server", url)["version"] == 1
        del calve.environment["CALVE_API__TOKEN"]
        assert calve("list", "--server", url, exits=2)["code"] == "TOKEN_WRONG"
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("words", "expected"), [("calve res", ["restart", "resume"]), ("calve run go", ["good"])]
)
def test_the_shell_completes_commands_and_workflows(
    calve: Any, files: list[str], words: str, expected: list[str]
) -> None:
    calve("push", *files)
    asked = {"_CALVE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        calve.command(), env={**calve.environment, **asked}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == expected


def test_the_other_name_of_the_command_is_the_same(calve: Any) -> None:
    found = Path(calve.command()[0]).with_name("scheduler")
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("calve ")
