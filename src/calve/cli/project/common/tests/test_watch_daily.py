"""The whole way on a lake of its own: events arrive, late ones too, and each of them is processed once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calve.lake import Lake
from calve.settings import load_settings

PROJECT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test alone: the lake of the project is not touched."""
    monkeypatch.setenv("CALVE_HOME", str(tmp_path))
    monkeypatch.delenv("CALVE_SERVER", raising=False)
    return tmp_path


def calve(*arguments: str) -> Any:
    """What a command prints."""
    command = [sys.executable, "-m", "calve.cli", *arguments, "--json"]
    done = subprocess.run(command, cwd=PROJECT, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def rows_of(table: str) -> list[dict[str, Any]]:
    """All rows of a table."""
    catalog = Lake(load_settings()).catalog("lake")
    found: list[dict[str, Any]] = catalog.load_table(table).scan().to_arrow().to_pylist()
    return found


def rows_processed() -> list[int]:
    """How many rows each run took that had something to take. Runs may be started by the trigger, too."""
    taken = []
    for run in reversed(calve("runs", "watch_daily")["runs"]):
        steps = calve("runs", "watch_daily", str(run["instance_id"]))["steps"]
        taken.append(steps["capture"]["params"].get("change_rows", 0))
    return [rows for rows in taken if rows]


def expected() -> dict[Any, int]:
    """The minutes by day and title, made from all rows at once."""
    totals: dict[Any, int] = {}
    for event in rows_of("watch.events"):
        key = (event["day"], event["title"])
        totals[key] = totals.get(key, 0) + event["minutes"]
    return totals


def test_late_events_are_added_to_their_days_and_nothing_is_read_twice() -> None:
    calve("push", "workflows")
    for arrival in ({"rows": 100, "late": 0}, {"rows": 50, "late": 7}):
        given = [f"{name}={value}" for name, value in arrival.items()]
        calve("run", "watch_source", *given, "--wait")
        calve("run", "watch_daily", "--wait")
        assert {(row["day"], row["title"]): row["minutes"] for row in rows_of("watch.daily")} == expected()
    assert rows_processed() == [100, 57]
