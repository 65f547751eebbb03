"""Real processes: several that capture for one consumer at once, and some that are killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from pyiceberg.table import Table

from calve.ledger.ledger import Ledger
from support.killing import Killer
from support.ledgers import append, rows

PROGRAM = Path(__file__).parents[2] / "support" / "capture_loop.py"
ROUNDS = 10
APPENDS = 40
PROCESSES = 3

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("mode", "parallel"), [("append", "yes"), ("net", "yes"), ("append", "no")])
def test_processes_that_capture_at_once_never_commit_an_overlap(
    ledger: Ledger, table: Table, home: Path, state_url: str, tmp_path: Path, mode: str, parallel: str
) -> None:
    append(table, 0)
    outputs = [tmp_path / f"{number}.json" for number in range(PROCESSES)]
    running = [
        subprocess.Popen([sys.executable, PROGRAM, home, state_url, "c", mode, parallel, str(ROUNDS), output])
        for output in outputs
    ]
    number = 0
    while any(process.poll() is None for process in running) and number < APPENDS:
        number += 1
        append(table, number)
    assert [process.wait(timeout=120) for process in running] == [0] * PROCESSES
    last = ledger.capture("db.t", consumer="c", mode=mode)
    last.commit()
    segments = [[s.from_snapshot_exclusive, s.to_snapshot_inclusive] for s in last.segments]
    committed = {last.id: {"id": last.id, "segments": segments, "records": last.records}}
    for output in outputs:
        committed |= {capture["id"]: capture for capture in json.loads(output.read_text())}
    assert_tiles_the_history(table, [span for x in committed.values() for span in x["segments"]])
    assert sum(capture["records"] for capture in committed.values()) == number + 1


def assert_tiles_the_history(table: Table, spans: list[list[int | None]]) -> None:
    """Every snapshot is in exactly one of the stretches."""
    order = [None, *(snapshot.snapshot_id for snapshot in table.refresh().snapshots())]
    places = sorted([order.index(start), order.index(end)] for start, end in spans if start != end)
    assert places[0][0] == 0
    assert places[-1][1] == len(order) - 1
    assert all(left[1] == right[0] for left, right in pairwise(places))


def test_a_killed_capture_loses_nothing_and_repeats_nothing(
    ledger: Ledger, table: Table, home: Path, state_url: str, tmp_path: Path
) -> None:
    """`calve capture` and `calve commit`, each killed again and again until one gets through."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    environment = {"CALVE_HOME": str(home), "CALVE_STATE_URL": state_url}
    seen: list[int] = []
    with Killer(environment, tmp_path, seed) as killer:
        for number in range(8):
            append(table, 2 * number, 2 * number + 1)
            shown = killer.until_it_gets_through("capture", "db.t", "--consumer", "c")
            seen += rows(shown["icdc_metadata_location"])
            settled = killer.until_it_gets_through("commit", shown["capture_id"])
            assert settled["status"] == "committed"
    assert killer.killed > 0
    assert sorted(seen) == list(range(16))
    nothing = ledger.capture("db.t", consumer="c")
    assert not nothing.has_changes
    nothing.commit()
    assert ledger.lag()[0].to_json()["records"] == 0
    ledger.gc(timedelta(0))
    assert not list((home / "warehouse" / "_icdc").rglob("*.*")), "what the killed ones left is collected"
    assert table.refresh().scan().to_arrow().num_rows == 16


def test_two_processes_that_ask_at_the_same_moment_get_one_capture(
    ledger: Ledger, table: Table, home: Path, state_url: str
) -> None:
    environment = {**os.environ, "CALVE_HOME": str(home), "CALVE_STATE_URL": state_url}
    command = [sys.executable, "-m", "calve.cli", "capture", "db.t", "--consumer", "c", "--json"]
    for number in range(2):
        append(table, number)
        asking = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        printed = [process.communicate(timeout=120) for process in asking]
        assert [process.returncode for process in asking] == [0, 0], printed
        one, two = (json.loads(out) for out, _ in printed)
        assert one == two
        assert rows(one["icdc_metadata_location"]) == [number]
        ledger.commit(one["capture_id"])
