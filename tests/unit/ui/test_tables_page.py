"""The list of tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.ledger.ledger import Ledger
from calve.server.app import PREFIX
from calve.state.database import Database
from calve.steps.incremental.shared import close_ledgers
from calve.ui.views.tables import listing
from calve.ui.views.tables.opening import Kept
from calve.workflow.definition import load_yaml
from support.engine_rows import set_run, start
from support.ledgers import append, make_ledger, make_table

pytestmark = pytest.mark.slow
COPY = (
    "Workflow: {id: copy, jobs: [{job: {id: a, type: Spark, script: INSERT INTO db.end SELECT * FROM db.t}}]}"
)


@pytest.fixture
def ledger(orchestrator: Orchestrator) -> Iterator[Ledger]:
    with make_ledger(orchestrator.settings.home) as made:
        yield made
    close_ledgers()


def by_name(twins: TestClient, path: str = "/tables") -> dict[str, dict[str, object]]:
    return {table["name"]: table for table in twins.get(path).json()["tables"]}


def test_without_tables_the_page_says_when_there_are_some(browser: TestClient) -> None:
    page = browser.get("/tables")
    assert page.status_code == 200
    assert "No tables yet." in page.text


def test_tables_of_workflows_consumers_and_signals_are_listed_with_their_roles(
    ledger: Ledger, orchestrator: Orchestrator, browser: TestClient, twins: TestClient
) -> None:
    orchestrator.push(load_yaml(COPY).definition, "tester")
    table = make_table(ledger)
    append(table, 1)
    ledger.capture("db.t", consumer="a").commit()
    append(table, 2, 3)
    orchestrator.publish_valid_through("db.said", "2024-01-31T00:00:00Z")
    orchestrator.send_signal("table:lake.db.written", {"snapshot_id": 1}, {}, None)
    found = by_name(twins)
    assert list(found) == ["lake.db.end", "lake.db.said", "lake.db.t", "lake.db.written"]
    roles = {name: (one["is_source"], one["is_target"]) for name, one in found.items()}
    assert roles == {
        "lake.db.end": (False, True),
        "lake.db.said": (False, False),
        "lake.db.t": (True, False),
        "lake.db.written": (False, True),
    }
    own = found["lake.db.t"]
    assert (own["rows"], own["consumers"], own["error"]) == (3, 1, None)
    assert isinstance(own["lag"], dict)
    assert (own["lag"]["snapshots"], own["lag"]["records"]) == (1, 2)
    assert found["lake.db.said"]["valid_through"] == 1_706_659_200_000
    assert found["lake.db.end"]["is_missing"]
    page = browser.get("/tables").text
    assert "1 snapshot, 2 rows, for" in page
    assert "it is not in its catalog" in page


def test_a_target_is_as_fresh_as_the_workflow_that_writes_it(
    orchestrator: Orchestrator, database: Database, twins: TestClient
) -> None:
    orchestrator.push(load_yaml(COPY).definition, "tester")
    orchestrator.activate("copy", "latest", "tester")
    seen = [by_name(twins)["lake.db.end"]["freshness"]]
    run = start(database, "copy").run
    for status in ("CREATED", "FAILED", "SUCCEEDED"):
        set_run(database, run, status=status)
        seen.append(by_name(twins)["lake.db.end"]["freshness"])
    assert seen == [
        {"status": "NONE", "why": "it never ran"},
        {"status": "STALE", "why": "instance 1 is queued"},
        {"status": "LATE", "why": "instance 1 failed"},
        {"status": "FRESH", "why": "instance 1 succeeded"},
    ]
    close_ledgers()


def test_pages_go_on_after_a_name_and_a_search_narrows(
    ledger: Ledger, browser: TestClient, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    for name in ("db.one", "db.two", "db.three"):
        make_table(ledger, name)
        ledger.capture(name, consumer="a").commit()
    first = twins.get("/tables").json()
    assert [table["name"] for table in first["tables"]] == ["lake.db.one", "lake.db.three"]
    assert list(by_name(twins, first["next"])) == ["lake.db.two"]
    assert list(by_name(twins, "/tables?search=TWO")) == ["lake.db.two"]
    assert "No table has a name like that." in browser.get("/tables?search=zzz").text


def test_a_name_that_is_markup_is_shown_as_it_is(ledger: Ledger, browser: TestClient) -> None:
    make_table(ledger, "db.<script>x")
    ledger.capture("db.`<script>x`", consumer="a").commit()
    page = browser.get("/tables", params={"search": "<script>"}).text
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page


def test_what_was_not_asked_for_the_longest_is_forgotten_first() -> None:
    kept: Kept[int] = Kept(10, lambda made: made)
    for number in (4, 5):
        kept.keep(number, number)
    assert kept.get(4) == 4
    kept.keep(3, 3)
    assert (kept.get(4), kept.get(5), kept.get(3)) == (4, None, 3)
    kept.keep(99, 99)
    assert (kept.get(99), kept.get(4)) == (99, None)


def test_a_signal_that_says_no_moment_is_refused_and_the_list_stays(
    ledger: Ledger, browser: TestClient
) -> None:
    body = {"name": "valid_through:lake.db.t", "params": {"valid_through": "soon"}}
    refused = browser.post(f"{PREFIX}/signals", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "VALID_THROUGH_INVALID")
    assert browser.get("/tables").status_code == 200
