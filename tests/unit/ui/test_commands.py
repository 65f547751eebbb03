"""Commands that pages offer are words to a shell, whatever stands in an address."""

from __future__ import annotations

import shlex

import pytest
from fastapi.testclient import TestClient

from calve.state.database import Database
from calve.ui.commands import command
from support.engine_rows import push_jobs, push_yaml

pytestmark = pytest.mark.slow

EVIL = "$(rm); x"


def test_a_command_has_each_word_as_it_is_and_none_that_is_empty() -> None:
    text = command("runs", EVIL, None, "", 7)
    assert shlex.split(text) == ["calve", "runs", EVIL, "7"]
    assert text == "calve runs '$(rm); x' 7"


@pytest.mark.parametrize(
    ("path", "query", "words"),
    [
        ("/runs", {"workflow": EVIL}, ["runs", EVIL]),
        ("/runs", {"workflow": EVIL, "status": "FAILED"}, ["runs", EVIL, "--status", "FAILED"]),
        ("/runs", {"status": "FAILED"}, ["runs", "--status", "FAILED"]),
        ("/signals", {"name": EVIL}, ["signal", EVIL]),
        ("/signals", {}, ["signal", "NAME"]),
        ("/workflows", {"search": EVIL}, ["list", EVIL]),
    ],
)
def test_what_stands_in_a_query_is_quoted(
    twins: TestClient, path: str, query: dict[str, str], words: list[str]
) -> None:
    assert shlex.split(twins.get(path, params=query).json()["command"]) == ["calve", *words]


def test_the_command_of_a_table_is_quoted(twins: TestClient, database: Database) -> None:
    script = "INSERT INTO db.`$(rm)` SELECT * FROM db.t"
    push_yaml(database, f"Workflow: {{id: w, jobs: [{{job: {{id: a, type: Spark, script: {script}}}}}]}}")
    (name,) = (x["name"] for x in twins.get("/tables").json()["tables"] if "rm" in x["name"])
    found = twins.get(f"/tables/{name}").json()["command"]
    assert shlex.split(found) == ["calve", "lag", "--table", name]


def test_a_start_needs_no_param_that_has_a_default_and_names_its_version(
    twins: TestClient, database: Database
) -> None:
    push_yaml(database, "Workflow: {id: w, a: 1, b: x, c: y, jobs: [{job: {id: a, type: NoOp}}]}")
    push_jobs(database, "w", "a")
    assert twins.get("/workflows/w/start?version=1").json()["command"] == "calve run w --version 1"
    assert twins.get("/workflows/w/start").json()["command"] == "calve run w"
