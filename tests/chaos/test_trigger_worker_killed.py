"""A worker killed with -9 around the moment at which a change of a table starts a workflow."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from calve.ledger.ledger import Ledger
from calve.ledger.rows import read_captures
from calve.state.orchestration import runs
from calve.state.schema import captures
from support.ledgers import append, head, make_ledger, make_table
from support.table_triggers import OFTEN
from support.workers import Site, site, until

pytestmark = pytest.mark.slow

NOOP = """
Trigger: {incremental: db.t}
Workflow: {id: w, jobs: [{job: {id: a, type: NoOp}}]}
"""
CAPTURE = """
Trigger: {incremental: true}
Workflow:
  id: w
  jobs:
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.t]}}
    - job: {id: commit, type: IpCommit}
  dag: sequential
"""
ROUNDS = 6


@pytest.fixture
def here(home: Path) -> Iterator[Site]:
    with site(home, CALVE_ENGINE__TABLE_POLL=OFTEN) as made:
        yield made


@pytest.fixture
def ledger(here: Site) -> Iterator[Ledger]:
    with make_ledger(here.home) as made:
        yield made


def statuses(here: Site) -> list[str]:
    with here.orchestrator.database.read() as connection:
        return list(connection.execute(select(runs.c.status).order_by(runs.c.id)).scalars())


def decided(here: Site) -> Any:
    (trigger,) = here.orchestrator.triggers("w")["incremental_triggers"]
    return trigger["decision"]


def is_done(here: Site, newest: int) -> bool:
    found = decided(here)
    return found is not None and found["what"] == "nothing" and found["tables"][0]["snapshot_id"] == newest


def test_a_change_after_the_worker_died_starts_one_instance_under_the_next(
    here: Site, ledger: Ledger
) -> None:
    table = make_table(ledger)
    here.push(NOOP)
    worker = here.worker()
    until(lambda: decided(here))
    worker.kill()
    append(table, 1)
    append(table, 2)
    here.worker()
    until(lambda: statuses(here) == ["SUCCEEDED"] or None)
    until(lambda: is_done(here, head(table)) or None)
    assert statuses(here) == ["SUCCEEDED"]


def test_workers_killed_at_random_moments_lose_no_change_and_capture_none_twice(
    here: Site, ledger: Ledger
) -> None:
    chance = random.Random(5)
    table = make_table(ledger)
    here.push(CAPTURE)
    for number in range(ROUNDS):
        worker = here.worker()
        append(table, number)
        # Any moment from before the start of an instance to after its end.
        time.sleep(chance.uniform(0, 0.6))
        worker.kill()
    here.worker()
    until(lambda: is_done(here, head(table)) or None)
    assert set(statuses(here)) == {"SUCCEEDED"}
    with here.orchestrator.database.read() as connection:
        done = read_captures(connection, captures.c.status == "committed")
    assert sum(changes.records for capture in done for changes in capture.changes) == ROUNDS
    assert len(statuses(here)) <= ROUNDS
