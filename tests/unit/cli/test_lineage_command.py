"""`calve lineage`, on the state of the home and over a server alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from calve.cli.main import run
from support.serving import running_server
from support.states import place_state

pytestmark = pytest.mark.slow

WORKFLOWS = {
    "first": "script: FROM db.raw INSERT INTO db.left (x) SELECT a INSERT INTO db.right (x) SELECT b",
    "second": "script: INSERT INTO db.end SELECT * FROM db.left JOIN db.right USING (x)",
    "odd": "script: 'INSERT INTO db.t_${RUN_DATE} SELECT * FROM db.end'",
}
Calve = Callable[..., str]


@pytest.fixture(params=["embedded", "server"])
def calve(
    request: pytest.FixtureRequest,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Calve]:
    """Runs a command and gives what it prints; `exits` is the exit code that is expected."""

    def call(*arguments: str, exits: int = 0) -> str:
        code = run(list(arguments))
        printed = capsys.readouterr()
        assert code == exits, printed
        return printed.out + printed.err

    monkeypatch.chdir(tmp_path)
    for name, script in WORKFLOWS.items():
        job = f"    - job:\n        id: load\n        type: Spark\n        {script}\n"
        Path(f"{name}.yaml").write_text(f"Workflow:\n  id: {name}\n  jobs:\n{job}", encoding="utf-8")
    place_state(home)
    if request.param == "embedded":
        monkeypatch.setenv("CALVE_HOME", str(home))
        call("push", str(tmp_path))
        yield call
        return
    with running_server(home, with_engine=False) as url:
        monkeypatch.setenv("CALVE_HOME", str(tmp_path / "elsewhere"))
        monkeypatch.setenv("CALVE_SERVER", url)
        call("push", str(tmp_path))
        yield call


def test_a_table_is_shown_as_two_trees(calve: Calve) -> None:
    shown = calve("lineage", "db.end")
    up, down = shown.split("downstream of lake.db.end")
    assert up.splitlines()[0] == "upstream of lake.db.end"
    assert up.count("first") == 2, "each side of the diamond leads to it"
    assert up.count("lake.db.raw") == 1, "and it is followed once"
    assert "odd" in down
    assert "writes of odd/load not known: the name db.t_${RUN_DATE} needs RUN_DATE" in down


def test_one_way_and_columns(calve: Calve) -> None:
    shown = calve("lineage", "first", "--downstream", "--columns")
    assert "upstream of" not in shown
    assert "lake.db.left.x" in shown
    assert "lake.db.raw.a" in shown


def test_json_is_what_the_api_says(calve: Calve) -> None:
    found = json.loads(calve("lineage", "lake.db.raw", "--downstream", "--json"))
    assert found["downstream"]["workflows"] == ["first", "odd", "second"]
    whole = json.loads(calve("lineage", "--json"))
    assert len([node for node in whole["nodes"] if node["kind"] == "workflow"]) == 3


def test_all_workflows_with_their_tables(calve: Calve) -> None:
    shown = calve("lineage")
    assert "lake.db.right" in shown
    assert "second" in shown


def test_wrong_names_and_options_are_told(calve: Calve) -> None:
    assert "did you mean 'lake.db.raw'?" in calve("lineage", "db.rawx", exits=2)
    assert "NAME_MISSING" in calve("lineage", "--columns", exits=2)
