"""Commands on workflows without an engine, on the state of the home and over a server alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from calve.cli.main import run
from calve.settings import load_settings
from calve.state.database import Database
from support.engine_rows import NOW, push_jobs, set_run, start
from support.serving import running_server

pytestmark = pytest.mark.slow

YAML = """
Workflow:
  id: {id}
  n: 1
  flag: false
  words: [a, b]
  text: hello
  jobs:
    - job: {{id: a, type: NoOp}}
    - job: {{id: b, type: NoOp, rows: 2}}
  dag: sequential
"""
Calve = Callable[..., Any]


@pytest.fixture(params=["embedded", pytest.param("server", marks=pytest.mark.slow)])
def calve(
    request: pytest.FixtureRequest,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Calve]:
    """Runs a command with --json and gives what it prints; `exits` is the exit code that is expected."""

    def call(*arguments: str, exits: int = 0) -> Any:
        code = run([*arguments, "--json"])
        printed = capsys.readouterr()
        assert code == exits, printed
        return json.loads(printed.out)

    monkeypatch.chdir(tmp_path)
    if request.param == "embedded":
        monkeypatch.setenv("CALVE_HOME", str(home))
        yield call
        return
    with running_server(home, with_engine=False) as url:
        monkeypatch.setenv("CALVE_HOME", str(tmp_path / "elsewhere"))
        monkeypatch.setenv("CALVE_SERVER", url)
        yield call


def write(workflow_id: str, text: str = YAML, name: str | None = None) -> str:
    file = Path(f"{name or workflow_id}.yaml")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.format(id=workflow_id))
    return str(file)


def test_a_push_of_one_file_gives_its_version(calve: Calve) -> None:
    file = write("wf")
    assert calve("push", file) == {"workflow_id": "wf", "version": 1}
    assert calve("push", file) == {"workflow_id": "wf", "version": 2}


def test_a_push_of_a_folder_gives_all_versions(calve: Calve) -> None:
    write("one", name="flows/one")
    write("two", name="flows/deep/two")
    found = calve("push", "flows")["pushed"]
    assert {(one["workflow_id"], one["version"]) for one in found} == {("one", 1), ("two", 1)}


def test_nothing_of_a_refused_push_is_stored(calve: Calve) -> None:
    good, bad = write("good"), write("bad", YAML.replace("type: NoOp, rows", "type: Nope, rows"))
    error = calve("push", good, bad, exits=2)
    assert error["code"] == "STEP_TYPE_UNKNOWN"
    assert [(one["file"], one["line"]) for one in error["errors"]] == [(bad, 10)]
    assert calve("list")["workflows"] == []


def test_people_see_every_problem_of_a_refused_push(calve: Calve, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["push", write("good"), write("bad", YAML.replace("NoOp", "Nope"))]) == 2
    assert capsys.readouterr().err.count("'Nope' is not a type of job") == 2


def test_two_files_with_one_workflow_are_refused(calve: Calve) -> None:
    error = calve("push", write("wf", name="x"), write("wf", name="y"), exits=2)
    assert error["code"] == "WORKFLOW_DUPLICATE"


def test_a_push_includes_texts_of_its_folder(calve: Calve) -> None:
    Path("script.sql").write_text("SELECT 1")
    calve("push", write("wf", YAML.replace("text: hello", "text: $FILE{{script.sql}}")))
    assert calve("show", "wf")["workflow"]["params"]["text"]["value"] == "SELECT 1"


def test_validate_knows_the_types_that_push_knows(calve: Calve) -> None:
    file = write("wf")
    calve("push", file)
    assert calve("validate", file)["valid"] is True
    assert calve("validate", write("bad", YAML.replace("NoOp", "Nope")), exits=2)["valid"] is False


def test_a_missing_file_is_named(calve: Calve) -> None:
    assert calve("push", "nothing.yaml", exits=2)["code"] == "FILE_NOT_FOUND"


def test_params_get_the_types_that_are_declared(calve: Calve) -> None:
    calve("push", write("wf"))
    found = calve("run", "wf", "n=7", "flag=true", "words=[x, y]", "text=5", "new=2024", "other=a=b")
    params = found["params"]
    assert (params["n"], params["flag"], params["words"], params["text"]) == (7, True, ["x", "y"], "5")
    assert (params["new"], params["other"]) == (2024, "a=b")
    assert found["status"] == "CREATED"
    assert found["link"].endswith("/workflows/wf/instances/1")
    assert {
        key: found[key] for key in ("workflow_id", "instance_id", "run_id", "outcome", "engine_alive")
    } == {
        "workflow_id": "wf",
        "instance_id": 1,
        "run_id": 1,
        "outcome": "CREATED",
        "engine_alive": False,
    }
    assert found["steps"]["a"] == {"status": "NOT_CREATED", "params": {}}


@pytest.mark.parametrize(
    ("assignments", "code"),
    [
        (["n=x"], "PARAM_TYPE"),
        (["n"], "ASSIGNMENT_INVALID"),
        (["=1"], "ASSIGNMENT_INVALID"),
        (["n=1", "n=2"], "ASSIGNMENT_INVALID"),
    ],
)
def test_params_that_do_not_fit_are_refused(calve: Calve, assignments: list[str], code: str) -> None:
    calve("push", write("wf"))
    assert calve("run", "wf", *assignments, exits=2)["code"] == code
    assert calve("runs")["runs"] == []


def test_the_same_request_is_one_instance(calve: Calve) -> None:
    calve("push", write("wf"))
    assert calve("run", "wf", "--request-id", "r1")["outcome"] == "CREATED"
    again = calve("run", "wf", "--request-id", "r1")
    assert (again["outcome"], again["instance_id"]) == ("DUPLICATED", 1)


@pytest.mark.parametrize(
    "command", [("run", "pipelin"), ("show", "pipelin"), ("runs", "pipelin"), ("stop", "pipelin")]
)
def test_an_unknown_workflow_is_answered_with_the_nearest(calve: Calve, command: tuple[str, ...]) -> None:
    calve("push", write("pipeline"))
    error = calve(*command, exits=2)
    assert (error["code"], error["remedy"]) == ("WORKFLOW_NOT_FOUND", "did you mean 'pipeline'?")


def test_workflows_are_listed_and_searched(calve: Calve) -> None:
    calve("push", write("alpha"), write("beta"))
    assert [one["workflow_id"] for one in calve("list")["workflows"]] == ["alpha", "beta"]
    assert [one["workflow_id"] for one in calve("list", "BET")["workflows"]] == ["beta"]
    short = calve("list", "--limit", "1")
    assert (len(short["workflows"]), short["next_cursor"]) == (1, "alpha")


def test_a_queued_instance_is_stopped_restarted_and_killed(calve: Calve) -> None:
    calve("push", write("wf"))
    calve("run", "wf")
    stopped = calve("stop", "wf", "1")
    assert (stopped["action"], stopped["answer"]["workflow_instance_status"]) == ("stop", "STOPPED")
    assert calve("stop", "wf", "1", exits=2)["code"] == "INSTANCE_OVER"
    again = calve("restart", "wf", "1", "n=9", "--from-beginning")
    assert (again["run_id"], again["params"]["n"]) == (2, 9)
    assert calve("restart", "wf", "1", exits=2)["code"] == "INSTANCE_NOT_OVER"
    assert calve("kill", "wf")["answer"]["info"] == 1
    assert calve("runs", "wf", "--status", "failed")["runs"][0]["run_id"] == 2
    assert calve("runs", "wf", "1")["status"] == "FAILED"


def test_a_restart_from_a_step_names_one_that_is_there(calve: Calve) -> None:
    calve("push", write("wf"))
    calve("run", "wf")
    calve("stop", "wf")
    assert calve("restart", "wf", "1", "--from", "zz", exits=2)["code"] == "STEP_NOT_FOUND"
    assert calve("restart", "wf", "1", "--from", "b", "--from-beginning", exits=2)["code"] == "USAGE"
    assert calve("restart", "wf", "1", "--from", "b", "rows=5")["run_id"] == 2


def test_a_workflow_is_paused_resumed_and_unblocked(calve: Calve) -> None:
    calve("push", write("wf"))
    assert calve("pause", "wf")["answer"]["action"] == "PAUSE"
    assert calve("list")["workflows"][0]["paused"] is True
    calve("resume", "wf")
    assert calve("list")["workflows"][0]["paused"] is False
    assert calve("unblock", "wf")["answer"]["info"] == 0


@pytest.mark.parametrize("action", ["skip", "bypass"])
def test_a_step_that_has_not_begun_cannot_be_acted_on(calve: Calve, action: str) -> None:
    calve("push", write("wf"))
    calve("run", "wf")
    assert calve(action, "wf", "1", "b", exits=2)["code"] == "STEP_ACTION_REFUSED"


def test_the_log_of_a_step_that_has_not_begun_is_not_there(calve: Calve) -> None:
    calve("push", write("wf"))
    calve("run", "wf")
    assert calve("logs", "wf", "1", "a", exits=2)["code"] == "STEP_NOT_FOUND"


def test_a_signal_is_sent_once(calve: Calve) -> None:
    sent = calve("signal", "db/t", "date=20240101", "who=me", "--payload", '{"rows": 1}')
    assert sent == {"name": "db/t", "seq_id": 1, "duplicate": False}
    assert calve("signal", "db/t", "date=20240102")["seq_id"] == 2
    assert calve("signal", "db/t", "date=20240101", "who=me")["duplicate"] is True
    assert calve("signal", "db/t", "date=20240101", "who=me")["seq_id"] == 1
    assert calve("signal", "db/t", "--payload", "[]", exits=2)["code"] == "PAYLOAD_INVALID"


def test_what_people_see_is_not_json(calve: Calve, capsys: pytest.CaptureFixture[str]) -> None:
    calve("push", write("wf"))
    assert run(["run", "wf"]) == 0
    assert "/workflows/wf/instances/1" in (shown := capsys.readouterr().out)
    assert "queued; no engine is there to run it: start `calve dev`" in shown
    for command, expected in (
        (["list"], "wf"),
        (["show", "wf"], "- job:"),
        (["runs"], "CREATED"),
        (["runs", "wf", "1"], "NOT_CREATED"),
        (["signal", "s"], "s sent, number 1"),
        (["pause", "wf"], "pause: wf"),
        (["push", "wf.yaml"], "pushed wf, version 2"),
    ):
        assert run(command) == 0
        assert expected in capsys.readouterr().out


def test_the_shell_completes_workflow_ids(calve: Calve) -> None:
    from calve.cli.completion import workflow_ids

    calve("push", write("alpha"), write("alps"), write("beta"))
    assert workflow_ids("al") == ["alpha", "alps"]


@pytest.mark.parametrize(
    ("url", "exits", "code"),
    [
        ("http://127.0.0.1:9", 3, "SERVER_UNREACHABLE"),
        ("nonsense", 2, "SERVER_URL_INVALID"),
        ("ftp://127.0.0.1", 2, "SERVER_URL_INVALID"),
    ],
)
def test_a_server_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], url: str, exits: int, code: str
) -> None:
    assert run(["list", "--server", url, "--json"]) == exits
    assert json.loads(capsys.readouterr().out)["code"] == code


def test_up_to_which_time_a_table_is_complete_is_said_and_shown(calve: Calve) -> None:
    assert calve("valid-through", "db.t", exits=2)["code"] == "VALID_THROUGH_UNKNOWN"
    said = calve("valid-through", "db.t", "2024-01-31")
    assert (said["table"], said["valid_through"]) == ("lake.db.t", 1_706_659_200_000)
    assert calve("valid-through", "lake.db.t") == said
    assert calve("valid-through", "db.t", "soon", exits=2)["code"] == "VALID_THROUGH_INVALID"


def test_triggers_are_shown_and_lag_is_empty_without_consumers(calve: Calve) -> None:
    calve("push", write("w", "Trigger: {{incremental: db.t}}" + YAML))
    assert calve("triggers", "w")["incremental_triggers"][0]["definition"] == {"tables": ["db.t"]}
    assert calve("triggers", "none", exits=2)["code"] == "WORKFLOW_NOT_FOUND"
    assert calve("lag") == {"lag": []}


def test_old_instances_are_pruned_and_the_newest_stay(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CALVE_HOME", str(home))
    database = Database(load_settings(home).state_url)
    push_jobs(database, "w", "a")
    for _ in range(5):
        set_run(database, start(database, "w").run, status="SUCCEEDED", ended_at=NOW)
    database.close()
    for arguments, expected in (
        (["--keep", "2", "--dry-run"], "3 instances (3 runs) would be removed"),
        (["--keep", "2", "--older-than", "3000w"], "0 instances (0 runs) removed"),
        (["--keep", "2"], "3 instances (3 runs) removed"),
        ([], "0 instances (0 runs) removed"),
    ):
        assert run(["prune", *arguments]) == 0
        assert capsys.readouterr().out.strip() == expected
    assert run(["prune", "--older-than", "soon", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "DURATION_INVALID"
