"""Backfills from the command line and over REST: the same answers, and errors that say what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

from calve.cli import main
from calve.server.app import PREFIX, create_app
from support.backfill_world import World

Cli = Callable[..., tuple[int, str]]
RANGE = ("--from", "2024-01-02", "--to", "2024-01-04")


@pytest.fixture
def cli(chain: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    monkeypatch.setenv("CALVE_HOME", str(chain.calve.settings.home))

    def call(*arguments: str) -> tuple[int, str]:
        code = main.run(["backfill", *arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return call


@pytest.fixture
def api(chain: World) -> TestClient:
    app = create_app(chain.calve.calve)
    return TestClient(app, base_url=f"http://localhost{PREFIX}", headers={"user": "ada"})


def test_a_plan_is_printed_kept_and_listed(cli: Cli) -> None:
    code, text = cli("plan", "a", *RANGE, "--reason", "why not")
    assert code == 0
    for part in ("1. a (version 1)", "2. b (version 1), after 1", "2 files, 20 rows", "calve backfill run 1"):
        assert part in text
    code, shown = cli("show", "1")
    assert shown == text
    code, listed = cli("list", "--json")
    assert [x["reason"] for x in json.loads(listed)["backfills"]] == ["why not"]
    code, status = cli("status", "1")
    assert (code, "PLANNED" in status) == (0, True)
    code, report = cli("report", "1")
    assert report.startswith("# Backfill 1 of a")


def test_mistakes_end_with_two_and_a_remedy(cli: Cli) -> None:
    for arguments, code in (
        (("plan", "a", "--from", "2024-01-04", "--to", "2024-01-02"), "RANGE_REVERSED"),
        (("plan", "zzz", *RANGE), "WORKFLOW_NOT_FOUND"),
        (("plan", "a", *RANGE, "--threshold", "max_removed_rows=many"), "BACKFILL_REQUEST_INVALID"),
        (("plan", "a", *RANGE, "--order", "random"), "BACKFILL_REQUEST_INVALID"),
        (("run", "7"), "BACKFILL_NOT_FOUND"),
    ):
        exit_code, text = cli(*arguments)
        assert (exit_code, code in text, "remedy" in text) == (2, True, True), text


def test_a_cancelled_plan_cannot_run(cli: Cli) -> None:
    cli("plan", "a", *RANGE)
    code, text = cli("cancel", "1", "--json")
    assert (code, json.loads(text)["status"]) == (0, "CANCELLED")
    code, text = cli("run", "1", "--json")
    assert (code, json.loads(text)["code"]) == (2, "BACKFILL_CANCELLED")


def test_rest_plans_acts_and_tells(api: TestClient) -> None:
    body: dict[str, Any] = {"workflow_id": "a", "from": "2024-01-02", "to": "2024-01-04", "concurrency": 3}
    planned = api.post("/backfills", json=body).json()
    number = planned["backfill_id"]
    assert planned["plan"]["stages"][0]["workflow_id"] == "a"
    assert api.get(f"/backfills/{number}/plan").json() == planned
    assert api.get(f"/backfills/{number}").json()["concurrency"] == 3
    changed = api.post(f"/backfills/{number}/actions/concurrency", json={"concurrency": 5}).json()
    assert changed["concurrency"] == 5
    assert api.get("/backfills").json()["backfills"][0]["backfill_id"] == number
    assert api.get(f"/backfills/{number}/report").json()["markdown"].startswith("# Backfill")
    assert api.post(f"/backfills/{number}/actions/cancel").json()["status"] == "CANCELLED"


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/backfills/99/actions/run", None, 404, "BACKFILL_NOT_FOUND"),
        ("/backfills/99/actions/dance", None, 400, "BACKFILL_ACTION_UNKNOWN"),
        ("/backfills", {"workflow_id": "a"}, 400, None),
        ("/backfills", {"workflow_id": "a", "from": "2024-01-02", "to": "2024-01-02"}, 400, "RANGE_EMPTY"),
    ],
)
def test_rest_errors_have_a_code(
    api: TestClient, path: str, body: dict[str, Any] | None, status: int, code: str | None
) -> None:
    answer = api.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert code in (None, answer.json()["code"])
