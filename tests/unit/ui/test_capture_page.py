"""The page of a capture."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.lake import LookbackAsk
from calve.ledger.ledger import Ledger
from calve.ledger.writes import note_begun, note_landed
from calve.steps.incremental.shared import close_ledgers
from calve.ui.views.captures import files
from support.late_data import add_days, make_daily
from support.ledgers import append, make_ledger, make_table

pytestmark = pytest.mark.slow


@pytest.fixture
def ledger(orchestrator: Orchestrator) -> Iterator[Ledger]:
    with make_ledger(orchestrator.settings.home) as made:
        yield made
    close_ledgers()


def test_a_capture_tells_what_it_shows_and_where_to_read_it(
    ledger: Ledger, browser: TestClient, twins: TestClient, tmp_path: Path
) -> None:
    table = make_daily(ledger.lake)
    add_days(table, tmp_path / "in", {0: 3, 1: 4})
    window = LookbackAsk(timedelta(days=14))
    capture = ledger.capture(
        "db.events",
        consumer="nightly",
        range_columns=["event_time"],
        lookback=window,
        run_ref="flow/7/take",
    )
    found = twins.get(f"/captures/{capture.id}").json()
    assert (found["status"], found["consumer"]) == ("OPEN", "nightly")
    assert found["run"] == {"workflow_id": "flow", "instance_id": 7, "step_id": "take"}
    assert [(stage["name"], stage["at"] is None) for stage in found["life"]] == [
        ("reserved", False),
        ("ready", False),
        ("committed", True),
        ("dropped", True),
    ]
    (source,) = found["sources"]
    assert (source["changes"]["records"], source["changes"]["partition_count"]) == (7, 2)
    assert source["lookback"]["saved"]["records"] == -7
    listed = source["files"]["files"]
    assert sorted((file["rows"], file["partition"]["event_day"]) for file in listed) == [
        (3, "2024-03-01"),
        (4, "2024-03-02"),
    ]
    page = browser.get(f"/captures/{capture.id}").text
    assert f'data-copy="{capture.icdc_table}"' in page
    assert 'href="/workflows/flow/instances/7"' in page
    assert 'href="/workflows/flow/instances/7/steps/take"' in page
    assert "event_day=2024-03-02" in page
    assert "2024-03-01 06:00:00" in page
    assert f"calve verify {capture.id}" in page


def test_statements_and_skipped_operations_are_told(
    ledger: Ledger, browser: TestClient, twins: TestClient
) -> None:
    table = make_table(ledger)
    append(table, 1)
    table.refresh().delete("id = 1")
    append(table, 2)
    capture = ledger.capture("db.t", consumer="a")
    with ledger.database.write() as connection:
        for number in (1, 2):
            note_begun(connection, capture.id, f"<i>/{number}", "lake.db.target", "hash")
        note_landed(connection, capture.id, "<i>/1", 77)
    capture.commit()
    found = twins.get(f"/captures/{capture.id}").json()
    assert found["sources"][0]["changes"]["skipped_operations"] == {"delete": 1}
    assert [(x["snapshot_id"], x["landed_at"] is None) for x in found["writes"]] == [
        (77, False),
        (None, True),
    ]
    page = browser.get(f"/captures/{capture.id}").text
    assert 'href="/tables/lake.db.target"' in page
    assert "not as far as is known" in page
    assert "<i>" not in page
    assert "left out:</b> 1 delete" in page
    assert "Its ICDC table is dropped" in page


def test_a_released_capture_says_why(ledger: Ledger, browser: TestClient, twins: TestClient) -> None:
    append(make_table(ledger), 1)
    capture = ledger.capture("db.t", consumer="a")
    ledger.release(capture.id, "somebody needed the table")
    found = twins.get(f"/captures/{capture.id}").json()
    assert [stage["name"] for stage in found["life"]] == ["reserved", "ready", "released", "dropped"]
    assert "somebody needed the table" in browser.get(f"/captures/{capture.id}").text


def test_of_many_files_the_first_are_listed(
    ledger: Ledger, browser: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LIMIT", 2)
    table = make_table(ledger)
    for number in range(3):
        append(table, number)
    page = browser.get(f"/captures/{ledger.capture('db.t', consumer='a').id}").text
    assert "Files: the first 2" in page


def test_metadata_that_is_gone_is_a_message_and_no_error(ledger: Ledger, browser: TestClient) -> None:
    append(make_table(ledger), 1)
    capture = ledger.capture("db.t", consumer="a")
    Path(capture.icdc_metadata_location.removeprefix("file://")).unlink()
    page = browser.get(f"/captures/{capture.id}")
    assert page.status_code == 200
    assert "does not exist, though the table" in page.text


def test_a_capture_that_is_not_there_is_told(browser: TestClient) -> None:
    answer = browser.get("/captures/cap_none")
    assert answer.status_code == 404
    assert "there is no capture cap_none" in answer.text
