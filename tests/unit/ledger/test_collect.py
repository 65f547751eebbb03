"""ICDC tables go when nobody needs them, and the source's files never do."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
from pyiceberg.table import Table

from calve.ledger import collect as collecting
from calve.ledger.ledger import Ledger
from support.faults import Died, break_write, die_after
from support.ledgers import added, append

pytestmark = pytest.mark.slow

NOW = timedelta(0)


def icdc_tables(ledger: Ledger) -> list[str]:
    catalog = ledger.lake.catalog("lake")
    return [".".join(name) for name in catalog.list_tables("icdc")]


def own_files(home: Path) -> list[Path]:
    return sorted((home / "warehouse" / "_icdc").rglob("*.json"))


def test_a_commit_drops_the_icdc_tables(ledger: Ledger, table: Table, home: Path) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    assert len(icdc_tables(ledger)) == 1
    assert capture.commit().dropped
    assert icdc_tables(ledger) == []
    assert own_files(home) == []
    assert table.refresh().scan().to_arrow()["id"].to_pylist() == [1]


def test_a_kept_capture_outlives_commit_and_collection(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    assert not capture.commit(keep=True).dropped
    assert ledger.gc(NOW).orphans == ()
    assert added(capture.changes) == [1]


def test_what_a_commit_could_not_drop_is_collected_later(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")

    def refuse(*_: object) -> None:
        raise OSError("the store is away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collecting, "drop_changes", refuse)
        settled = capture.commit()
        assert not settled.dropped
        assert "the store is away" in settled.warnings[0]
        assert ledger.gc().failures
    assert ledger.gc(dry_run=True).dropped == (capture.id,)
    assert ledger.gc().dropped == (capture.id,)
    assert icdc_tables(ledger) == []
    assert ledger.gc().dropped == ()


def test_open_captures_are_reported_and_released_only_on_request(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    while time.time_ns() // 1_000_000 <= capture.record.created_at:
        pass
    assert ledger.gc(timedelta(days=1)).stale_open == ()
    reported = ledger.gc(NOW)
    assert (reported.stale_open, reported.released) == ((capture.id,), ())
    assert added(capture.changes) == [1]
    assert ledger.gc(NOW, dry_run=True, release_open=True).released == (capture.id,)
    assert ledger.get(capture.id).record.status == "open"
    assert ledger.gc(NOW, release_open=True).released == (capture.id,)
    assert ledger.get(capture.id).record.status == "released"
    assert icdc_tables(ledger) == []


def test_what_a_crash_left_is_collected(ledger: Ledger, table: Table, home: Path) -> None:
    append(table, 1)
    with pytest.MonkeyPatch.context() as patch:
        break_write(patch, die_after)
        with pytest.raises(Died):
            ledger.capture("db.t", consumer="c")
    ledger.reset_checkpoint("db.t", consumer="c", force=True)
    assert own_files(home) != []
    assert ledger.gc(timedelta(days=1)).orphans == ()
    assert len(ledger.gc(NOW, dry_run=True).orphans) == 1
    assert len(ledger.gc(NOW).orphans) == 1
    assert own_files(home) == []
    assert table.refresh().scan().to_arrow()["id"].to_pylist() == [1]
