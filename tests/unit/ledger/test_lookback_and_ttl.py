"""What is kept with a capture besides its changes: what it saved, and how long its tables may stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from calve.lake import LookbackAsk
from calve.ledger.ledger import Ledger
from support.ledgers import append

pytestmark = pytest.mark.slow
SCHEMA = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])


@pytest.fixture
def events(ledger: Ledger) -> Table:
    catalog = ledger.lake.catalog("lake")
    catalog.create_namespace("db")
    return catalog.create_table("db.events", schema=SCHEMA)


def write(table: Table, days_ago: int, rows: int = 2) -> None:
    moment = datetime.now(UTC) - timedelta(days=days_ago)
    table.refresh().append(pa.table({"id": range(rows), "at": [moment] * rows}, schema=SCHEMA))


def test_a_capture_tells_what_a_window_would_have_read(ledger: Ledger, events: Table) -> None:
    ask = LookbackAsk(timedelta(days=14), "at")
    for days_ago in (30, 10, 5):
        write(events, days_ago)
    first = ledger.capture("db.events", consumer="c", lookback=ask)
    shown = first.to_json()["lookback"]
    assert {key: shown[key] for key in ("window", "column", "files", "records", "unknown")} == {
        "window": "14d",
        "column": "at",
        "files": 2,
        "records": 4,
        "unknown": None,
    }
    assert ledger.capture("db.events", consumer="c").to_json() == first.to_json()
    first.commit()
    write(events, 0)
    second = ledger.capture("db.events", consumer="c", lookback=ask)
    assert second.to_json()["lookback"]["records"] == 6
    assert ledger.savings("c")["captures"] == 1, "what is not committed saved nothing yet"
    second.commit()
    saved = ledger.savings("c")
    assert (saved["captures"], saved["unknown"]) == (2, 0)
    assert (saved["files"], saved["records"]) == (2 + 3 - 3 - 1, 4 + 6 - 6 - 2)
    assert saved["bytes"] == saved["lookback"]["bytes"] - saved["captured"]["bytes"]


def test_what_could_not_be_told_is_counted_apart(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c", lookback=LookbackAsk(timedelta(days=14)))
    assert "not partitioned" in capture.to_json()["lookback"]["unknown"]
    capture.commit()
    append(table, 2)
    ledger.capture("db.t", consumer="c").commit()
    saved = ledger.savings("c")
    assert (saved["captures"], saved["unknown"], saved["files"]) == (0, 1, 0)


def test_a_capture_without_a_window_has_no_lookback(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    assert ledger.capture("db.t", consumer="c").to_json()["lookback"] is None


def test_an_open_capture_is_stale_when_its_own_time_is_over(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    short = ledger.capture("db.t", consumer="short", ttl=timedelta(0))
    ledger.capture("db.t", consumer="long", ttl=timedelta(days=1))
    ledger.capture("db.t", consumer="none")
    assert ledger.gc(timedelta(days=7)).stale_open == (short.id,)
    assert ledger.gc(timedelta(days=7)).released == ()
    assert ledger.gc(timedelta(days=7), release_open=True).released == (short.id,)


def test_a_kept_table_stays_for_its_ttl(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    kept = ledger.capture("db.t", consumer="kept", ttl=timedelta(days=1))
    gone = ledger.capture("db.t", consumer="gone", ttl=timedelta(0))
    for capture in (kept, gone):
        capture.commit(keep=True)
    assert ledger.gc(timedelta(days=7)).dropped == (gone.id,)
