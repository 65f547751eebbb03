from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from calve.backfill.records import TargetState
from calve.backfill.statuses import BackfillStatus, Phase
from calve.backfill.store import read_backfill, read_stages
from calve.state.database import Database
from calve.ui.views.backfills.cells import CELLS_LIMIT
from support.backfill_states import (
    branch_state,
    enter,
    give_driver,
    keep_plan,
    make_plan,
    make_report,
    queue_chunks,
    set_status,
)
from support.engine_rows import add_step, set_run

pytestmark = pytest.mark.slow

RUNNING, PAUSED, FAILED = BackfillStatus.RUNNING, BackfillStatus.PAUSED, BackfillStatus.FAILED
#: The buttons in each status, when no stage waits.
BUTTONS = {
    (): ["Run", "Run and publish", "Cancel backfill"],
    (RUNNING,): ["Pause", "Cancel backfill"],
    (RUNNING, PAUSED): ["Resume", "Cancel backfill"],
    (RUNNING, FAILED): ["Retry", "Cancel backfill"],
    (RUNNING, BackfillStatus.CANCELLED): [],
    (RUNNING, BackfillStatus.DONE): [],
}


def labels(twins: TestClient, backfill_id: int) -> list[str]:
    found = twins.get(f"/backfills/{backfill_id}").json()["actions"]
    return [one["label"] for one in found]


def test_a_plan_shows_its_stages_what_they_read_and_what_to_mind(
    database: Database, browser: TestClient, twins: TestClient
) -> None:
    made = keep_plan(database, reason="<b>why</b>")
    page = browser.get(f"/backfills/{made.id}")
    assert page.status_code == 200
    for text in (
        "Backfill 1 of daily", "planned", "&lt;b&gt;why&lt;/b&gt;", "emptied of the range first",
        "not emptied first: another workflow writes it, too", "&#39;other&#39; cannot take overwrites",
        "8 files, 4,000 rows, 200 kB", 'href="#stage-1"', "Chunk 1, planned: 2024-01-01 to before 2024-01-02",
        "calve backfill status 1",
    ):  # fmt: skip
        assert text in page.text, text
    model = twins.get(f"/backfills/{made.id}").json()
    assert (model["totals"]["files"], model["totals"]["ms"]) == (8, 16_000)
    assert [stage["phase"] for stage in model["stages"]] == ["PLANNED", "PLANNED"]


def test_an_unknown_backfill_is_a_page_that_helps(browser: TestClient) -> None:
    page = browser.get("/backfills/77")
    assert page.status_code == 404
    assert "calve backfill list" in page.text


@pytest.mark.parametrize("way", BUTTONS, ids=lambda way: way[-1] if way else "PLANNED")
def test_only_what_is_allowed_has_a_button(
    database: Database, browser: TestClient, twins: TestClient, way: tuple[BackfillStatus, ...]
) -> None:
    made = keep_plan(database)
    give_driver(database, made)
    set_status(database, made, *way)
    assert labels(twins, made.id) == BUTTONS[way]
    is_over = bool(way) and way[-1].is_over
    assert ("Chunks at a time" in browser.get(f"/backfills/{made.id}").text) is not is_over


def test_a_stage_that_waits_can_be_published_or_compared_again(database: Database, twins: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    give_driver(database, made)
    enter(database, made, 0, Phase.WAITING, **branch_state())
    assert labels(twins, made.id) == ["Publish", "Publish all", "Validate again", "Pause", "Cancel backfill"]


def test_a_cancelled_one_with_branches_can_be_discarded(database: Database, twins: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    enter(database, made, 0, Phase.RUNNING, **branch_state())
    set_status(database, made, BackfillStatus.CANCELLED)
    assert labels(twins, made.id) == ["Discard branches"]


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_is_shown(database: Database, browser: TestClient, phase: Phase) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    if phase is not Phase.PLANNED:
        enter(database, made, 0, phase, **branch_state())
    page = browser.get(f"/backfills/{made.id}")
    assert page.status_code == 200
    assert f"{phase.value.lower()}: " in page.text


def test_chunks_are_cells_that_lead_to_their_runs(
    database: Database, browser: TestClient, twins: TestClient
) -> None:
    made = set_status(database, keep_plan(database, make_plan(5)), RUNNING)
    enter(database, made, 0, Phase.RUNNING, **branch_state())
    queue_chunks(database, made, ["SUCCEEDED", "FAILED", "IN_PROGRESS", "CREATED", None])
    page = browser.get(f"/backfills/{made.id}").text
    assert 'href="/workflows/backfill-1.0.daily/instances/2"' in page
    assert "Chunk 2, failed" in page
    stage = twins.get(f"/backfills/{made.id}").json()["stages"][0]
    assert [cell["sign"] for cell in stage["cells"]] == ["✓", "!", "▸", "…", "·"]
    assert (stage["done"], stage["total"], stage["failed"]) == (1, 5, 1)


def test_a_large_plan_is_summarized(database: Database, browser: TestClient, twins: TestClient) -> None:
    made = keep_plan(database, make_plan(1000))
    cells = twins.get(f"/backfills/{made.id}").json()["stages"][0]["cells"]
    assert len(cells) <= CELLS_LIMIT
    assert sum(cell["count"] for cell in cells) == 1000
    assert "A cell stands for 5 chunks." in browser.get(f"/backfills/{made.id}").text


def test_a_validation_shows_all_that_it_rests_on(database: Database, browser: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    reports = {"lake.db.daily": make_report(passed=False, groups=70)}
    enter(database, made, 0, Phase.VALIDATING, **branch_state(reports=reports))
    page = browser.get(f"/backfills/{made.id}").text
    for text in (
        "max_removed_rows: 2 rows, at most 1 allowed", "compared by id", "max_removed_rows 1",
        "day=2024-01-01", "15 more are not shown.", "Sums and nulls that differ: 1", "1500.5", "1800.5",
        "&lt;script&gt;alert(1)&lt;/script&gt;", "NULL", "id=13", "Schema differs", "no day is missing",
        "snapshot 5921, main at 8830",
    ):  # fmt: skip
        assert text in page, text
    assert "<script>alert" not in page


def test_what_was_published_and_written_again_is_shown(database: Database, browser: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    again = {"round": 2, "replay": {"chunks": [1, 2]}, "old_branches": ("backfill_1_0_1",)}
    targets = {"lake.db.daily": TargetState(7, 8, 9), "lake.db.other": TargetState(3, 3, 3)}
    enter(database, made, 0, Phase.PUBLISHED, **branch_state(**again, targets=targets))
    set_status(database, made, BackfillStatus.DONE)
    page = browser.get(f"/backfills/{made.id}").text
    for text in ("round 2 with 2 chunks", "backfill_1_0_1", "on top of a main that had moved", "unchanged"):
        assert text in page, text
    report = browser.get(f"/backfills/{made.id}/report")
    assert report.headers["content-type"].startswith("text/markdown")
    assert "# Backfill 1 of daily" in report.text


def test_why_it_failed_is_said_with_the_remedy(database: Database, browser: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    driver = give_driver(database, made)
    error = {"code": "CHUNKS_FAILED", "message": "2 chunks failed", "remedy": "mend them & retry"}
    add_step(database, driver, "stage_0", "FATALLY_FAILED", error=json.dumps(error))
    set_run(database, driver, status="FAILED", ready=False)
    set_status(database, made, FAILED)
    page = browser.get(f"/backfills/{made.id}").text
    assert "2 chunks failed" in page
    assert "mend them &amp; retry" in page
    assert "/workflows/backfill-1/instances/1/steps/stage_0" in page


def test_buttons_act_and_tell_it(database: Database, browser: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    for action, told, status in (
        ("pause", "Paused", "PAUSED"),
        ("resume", "It+goes+on", "RUNNING"),
        ("cancel", "Cancelled", "CANCELLED"),
    ):
        answer = browser.post(f"/backfills/{made.id}/actions/{action}")
        assert answer.status_code == 303, answer.text
        assert told in answer.headers["location"]
        assert stored(database, made.id) == status
    refused = browser.post(f"/backfills/{made.id}/actions/pause")
    assert refused.status_code == 422
    assert "it cannot be paused" in refused.text


def test_a_failed_one_is_retried(database: Database, browser: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    driver = give_driver(database, made)
    set_run(database, driver, status="FAILED", ready=False)
    set_status(database, made, FAILED)
    assert browser.post(f"/backfills/{made.id}/actions/retry").status_code == 303
    assert stored(database, made.id) == "RUNNING"


def test_publish_and_validate_reach_the_stages(database: Database, browser: TestClient) -> None:
    made = set_status(database, keep_plan(database), RUNNING)
    enter(database, made, 0, Phase.WAITING, **branch_state())
    assert browser.post(f"/backfills/{made.id}/actions/publish", data={"later_too": "1"}).status_code == 303
    with database.read() as connection:
        kept = read_backfill(connection, made.id)
        assert kept.auto_publish
        assert read_stages(connection, kept)[0].state.approved
    assert browser.post(f"/backfills/{made.id}/actions/validate").status_code == 303
    with database.read() as connection:
        assert read_stages(connection, kept)[0].phase is Phase.VALIDATING


@pytest.mark.parametrize(("text", "code"), [("5", 303), ("0", 400), ("1000", 400), ("x", 400), ("", 400)])
def test_concurrency_is_a_number_in_bounds(
    database: Database, browser: TestClient, text: str, code: int
) -> None:
    made = keep_plan(database)
    answer = browser.post(f"/backfills/{made.id}/actions/concurrency", data={"concurrency": text})
    assert answer.status_code == code
    with database.read() as connection:
        assert read_backfill(connection, made.id).concurrency == (5 if code == 303 else 2)


def test_an_unknown_action_is_refused(database: Database, browser: TestClient) -> None:
    made = keep_plan(database)
    assert browser.post(f"/backfills/{made.id}/actions/burn").status_code == 400


def stored(database: Database, backfill_id: int) -> str:
    with database.read() as connection:
        return read_backfill(connection, backfill_id).status.value
