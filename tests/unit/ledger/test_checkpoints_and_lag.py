"""Checkpoints moved by hand, and how far consumers are behind, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest
from pyiceberg.table import Table

from calve.errors import ConflictError, NotFoundError, RefusedError
from calve.ledger.ledger import Ledger
from support.ledgers import added, append, code_of, head

pytestmark = pytest.mark.slow


def test_a_checkpoint_can_be_set_back_and_forward(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    append(table, 2)
    ledger.capture("db.t", consumer="c").commit()
    ledger.set_checkpoint("db.t", consumer="c", snapshot=first)
    capture = ledger.capture("db.t", consumer="c")
    assert added(capture.changes) == [2]
    with pytest.raises(RefusedError) as error:
        ledger.set_checkpoint("db.t", consumer="c", snapshot="earliest")
    assert code_of(error) == "CAPTURES_OPEN"
    assert capture.id in error.value.message
    ledger.set_checkpoint("db.t", consumer="c", snapshot="earliest", force=True)
    with pytest.raises(ConflictError):
        capture.commit()
    assert added(ledger.capture("db.t", consumer="c").changes) == [1, 2]


def test_a_checkpoint_can_be_set_before_the_first_capture(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.set_checkpoint("db.t", consumer="c", snapshot="latest")
    append(table, 2)
    assert added(ledger.capture("db.t", consumer="c").changes) == [2]


def test_a_reset_forgets_the_position_and_keeps_the_history(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = ledger.capture("db.t", consumer="c")
    capture.commit()
    ledger.reset_checkpoint("db.t", consumer="c")
    assert ledger.checkpoints() == []
    assert ledger.get(capture.id).record.status == "committed"
    assert added(ledger.capture("db.t", consumer="c").changes) == [1]
    with pytest.raises(NotFoundError) as error:
        ledger.reset_checkpoint("db.t", consumer="nobody")
    assert code_of(error) == "CHECKPOINT_NOT_FOUND"


def test_a_position_in_a_dropped_table_can_be_forgotten(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    ledger.lake.catalog("lake").drop_table("db.t")
    ledger.reset_checkpoint("db.t", consumer="c")
    assert ledger.lag() == []


# Lag


def test_lag_counts_what_is_not_committed(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    assert ledger.lag(consumer="c")[0].to_json()["snapshots"] == 0
    append(table, 2, 3)
    one = ledger.capture("db.t", consumer="c")
    append(table, 4)
    shown = ledger.lag(table="db.t")[0].to_json()
    assert (shown["snapshots"], shown["files"], shown["records"]) == (2, 2, 3)
    assert shown["seconds"] > 0
    assert shown["current_snapshot_id"] == head(table)
    assert shown["open_captures"] == [one.id]
    one.commit()
    assert ledger.lag(consumer="c")[0].to_json()["records"] == 1


def test_the_lag_of_an_unknown_consumer_is_an_error(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError) as error:
        ledger.lag(consumer="nobody")
    assert code_of(error) == "CONSUMER_NOT_FOUND"
