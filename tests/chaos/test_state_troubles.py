"""The state goes away, is locked, or is shared with an engine that was asleep: runs go on all the same."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from calve.engine.model.statuses import StepStatus
from support.postgres import stoppable_postgres
from support.workers import site, until

pytestmark = pytest.mark.slow
S = StepStatus
GONE_S = 10.0

WAIT_FOR_FILE = """
Workflow:
  id: w
  jobs:
    - job: {{id: it, type: Shell, script: "until [ -e {home}/go ]; do sleep 0.1; done; {it}"}}
    - job: {{id: after, type: Shell, script: "echo after >> {home}/marks"}}
  dag: sequential
"""


def wait_for_file(home: Path) -> str:
    return WAIT_FOR_FILE.format(home=home, it=f"echo it >> {home}/marks")


@pytest.mark.postgres
def test_a_database_that_is_gone_for_a_while_costs_only_time(home: Path) -> None:
    with stoppable_postgres() as server, site(home, server.url) as here:
        here.push(wait_for_file(home))
        here.worker()
        instance = here.start("w")
        here.until_step("w", instance, "it", S.RUNNING)
        server.stop()
        (home / "go").touch()
        until(lambda: (home / "marks").exists() or None)
        time.sleep(GONE_S)
        server.start()
        assert here.until_over("w", instance)["status"] == "SUCCEEDED"
        assert (home / "marks").read_text().split() == ["it", "after"]


def test_a_sqlite_state_that_another_process_has_locked_costs_only_time(home: Path) -> None:
    with site(home) as here:
        here.push(wait_for_file(home))
        here.worker()
        instance = here.start("w")
        here.until_step("w", instance, "it", S.RUNNING)
        other = sqlite3.connect(home / "state.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        (home / "go").touch()
        until(lambda: (home / "marks").exists() or None)
        time.sleep(GONE_S)
        other.execute("ROLLBACK")
        other.close()
        assert here.until_over("w", instance)["status"] == "SUCCEEDED"
        assert (home / "marks").read_text().split() == ["it", "after"]


def test_an_engine_that_slept_past_its_lease_changes_nothing_when_it_wakes(
    home: Path, postgres_url: str
) -> None:
    with site(home, postgres_url) as here:
        here.push(wait_for_file(home))
        asleep = here.worker()
        instance = here.start("w")
        here.until_step("w", instance, "it", S.RUNNING)
        asleep.freeze()
        here.worker()
        (home / "go").touch()
        over = here.until_over("w", instance)
        assert over["status"] == "SUCCEEDED"
        asleep.thaw()
        # The one that slept is an engine again, under a new lease: it takes part in what comes next.
        second = here.start("w")
        assert here.until_over("w", second)["status"] == "SUCCEEDED"
        assert here.summary("w", instance) == over
        assert sorted((home / "marks").read_text().split()) == ["after", "after", "it", "it"]
