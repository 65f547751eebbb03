"""Lineage over REST."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from support.ledgers import make_ledger, make_table

pytestmark = pytest.mark.slow

CHAIN = {
    "first": "type: Spark, script: INSERT INTO db.mid SELECT * FROM db.raw",
    "second": "type: Spark, script: INSERT INTO db.end SELECT * FROM db.mid",
    "third": "type: Shell, script: echo",
}


@pytest.fixture(autouse=True)
def _pushed(api: TestClient) -> None:
    for name, job in CHAIN.items():
        text = f"Workflow: {{id: {name}, jobs: [{{job: {{id: a, {job}}}}}]}}"
        assert api.post("/workflows/yaml", content=text).status_code == 200


def test_the_whole_graph(api: TestClient) -> None:
    found = api.get("/lineage").json()
    assert {node["id"] for node in found["nodes"]} == {
        *("workflow:first", "workflow:second", "workflow:third"),
        *("table:lake.db.raw", "table:lake.db.mid", "table:lake.db.end"),
    }
    assert {"from": "workflow:first", "to": "table:lake.db.mid"}.items() <= found["edges"][1].items()
    assert (len(found["edges"]), found["cycles"]) == (4, [])


def test_a_table_both_ways_and_one_way(api: TestClient) -> None:
    found = api.get("/lineage/tables/db.mid").json()
    assert (found["kind"], found["name"]) == ("table", "lake.db.mid")
    assert found["upstream"] == {"tables": ["lake.db.raw"], "workflows": ["first"]}
    assert found["downstream"] == {"tables": ["lake.db.end"], "workflows": ["second"]}
    assert len(found["edges"]) == 4
    one_way = api.get("/lineage/tables/lake.db.mid", params={"direction": "upstream"}).json()
    assert ("downstream" in one_way, len(one_way["edges"])) == (False, 2)
    assert "columns" not in one_way


def test_a_workflow_with_its_tables_and_what_is_not_known(api: TestClient) -> None:
    found = api.get("/lineage/workflows/second").json()
    assert found["workflow"]["writes"][0]["kinds"] == ["insert"]
    assert found["upstream"]["workflows"] == ["first"]
    unknown = api.get("/lineage/workflows/third").json()["unknown"]
    assert unknown["third"][0]["cause"] == "undeclared"


def test_columns_are_seen_with_those_that_the_tables_have(
    orchestrator: Orchestrator, api: TestClient
) -> None:
    path = "/lineage/tables/db.end"
    assert api.get(path, params={"columns": True}).json()["columns"] == []
    with make_ledger(orchestrator.settings.home) as ledger:
        for name in ("db.raw", "db.mid", "db.end"):
            make_table(ledger, name)
    found = api.get(path, params={"columns": True}).json()["columns"]
    assert len(found) == 4
    assert found[0] == {
        "source_table": "lake.db.mid",
        "source_column": "id",
        "target_table": "lake.db.end",
        "target_column": "id",
    }
    onward = api.get("/lineage/tables/db.end", params={"columns": True, "direction": "downstream"}).json()
    assert onward["columns"] == []
    own = api.get("/lineage/workflows/second", params={"columns": True, "direction": "downstream"}).json()
    assert {edge["source_table"] for edge in own["columns"]} == {"lake.db.mid"}


@pytest.mark.parametrize(
    ("path", "code", "remedy"),
    [
        ("/lineage/tables/db.midd", "TABLE_NOT_IN_LINEAGE", "did you mean 'lake.db.mid'?"),
        ("/lineage/workflows/frist", "WORKFLOW_NOT_FOUND", "did you mean 'first'?"),
        ("/lineage?name=secnd", "LINEAGE_NOT_FOUND", "did you mean 'second'?"),
        ("/lineage?name=nothing_like_it_at_all", "LINEAGE_NOT_FOUND", "see all with `calve lineage`"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_the_nearest(
    path: str, code: str, remedy: str, api: TestClient
) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer.json()["code"], answer.json()["remedy"]) == (404, code, remedy)


def test_a_direction_that_is_none_is_refused(api: TestClient) -> None:
    assert api.get("/lineage/tables/db.mid", params={"direction": "sideways"}).status_code == 400
