"""Captures that are cut between two snapshots, and what is left of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyiceberg.table import Table

from calve.errors import UsageError
from calve.ledger.ledger import Ledger
from calve.ledger.limits import CaptureLimits
from support.ledgers import added, append, code_of, make_table

pytestmark = pytest.mark.slow
ONE_FILE = CaptureLimits(max_files=1)


def file_sizes(table: Table) -> list[int]:
    return [int(s.summary["added-files-size"] or 0) for s in table.refresh().snapshots() if s.summary]


@pytest.mark.parametrize("mode", ["append", "net"])
@pytest.mark.parametrize(
    "limit",
    [
        lambda _: CaptureLimits(max_files=2),
        lambda _: CaptureLimits(max_rows=3),
        lambda table: CaptureLimits(max_bytes=sum(file_sizes(table)[:2])),
    ],
    ids=["files", "rows", "bytes"],
)
def test_what_is_over_a_limit_waits_for_the_next_capture(
    ledger: Ledger, table: Table, mode: str, limit: Callable[[Table], CaptureLimits]
) -> None:
    append(table, 1, 2)
    append(table, 3)
    last = append(table, 4)
    limits = limit(table)
    first = ledger.capture("db.t", consumer="c", mode=mode, limits=limits)
    assert added(first.changes) == [1, 2, 3]
    assert ledger.capture("db.t", consumer="c", mode=mode).id == first.id
    first.commit()
    second = ledger.capture("db.t", consumer="c", mode=mode, limits=limits)
    assert added(second.changes) == [4]
    assert second.to_snapshot_id == last


def test_one_snapshot_is_taken_however_big_it_is(ledger: Ledger, table: Table) -> None:
    append(table, 1, 2, 3)
    append(table, 4)
    limits = CaptureLimits(max_rows=1)
    for expected in ([1, 2, 3], [4], []):
        capture = ledger.capture("db.t", consumer="c", limits=limits)
        assert added(capture.changes) == expected
        capture.commit()


def test_snapshots_that_are_skipped_cost_nothing(ledger: Ledger, table: Table) -> None:
    append(table, 1, 2)
    ledger.capture("db.t", consumer="c").commit()
    table.refresh().delete("id = 1")
    append(table.refresh(), 3)
    table.refresh().delete("id = 2")
    append(table.refresh(), 4)
    capture = ledger.capture("db.t", consumer="c", limits=ONE_FILE)
    assert added(capture.changes) == [3]
    assert sum(capture.skipped_operations.values()) == 2
    capture.commit()
    assert added(ledger.capture("db.t", consumer="c", limits=ONE_FILE).changes) == [4]


def test_a_gap_is_taken_in_parts_oldest_first(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    append(table, 2)
    older = ledger.capture("db.t", consumer="c")
    append(table, 3)
    ledger.capture("db.t", consumer="c", parallel=True).commit()
    older.release()
    append(table, 4)
    for expected in ([1], [2], [4]):
        capture = ledger.capture("db.t", consumer="c", limits=ONE_FILE)
        assert added(capture.changes) == expected
        capture.commit()
    assert ledger.lag()[0].to_json()["records"] == 0


def test_several_tables_are_cut_at_about_the_same_moment(ledger: Ledger, table: Table) -> None:
    other = make_table(ledger, "db.u")
    for number in range(3):
        append(table, number)
        append(other, 10 + number)
    taken = []
    for _ in range(3):
        capture = ledger.capture("db.t", "db.u", consumer="c", limits=CaptureLimits(max_files=2))
        taken.append([added(changes) for changes in capture.sources])
        capture.commit()
    assert taken == [[[0], [10]], [[1], [11]], [[2], [12]]]


def test_a_table_of_which_nothing_fits_is_captured_as_unchanged(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    append(make_table(ledger, "db.u"), 2)
    capture = ledger.capture("db.t", "db.u", consumer="c", limits=ONE_FILE)
    assert [changes.has_changes for changes in capture.sources] == [True, False]
    capture.commit()
    capture = ledger.capture("db.t", "db.u", consumer="c", limits=ONE_FILE)
    assert added(capture.source("u")) == [2]


def test_a_capture_that_shows_nothing_does_not_hold_up_what_is_over_the_limit(
    ledger: Ledger, table: Table
) -> None:
    """What came and went again fills the limit; a consumer that leaves empty captures alone goes on."""
    append(table, 1)
    ledger.capture("db.t", consumer="c", mode="net").commit()
    append(table, 2)
    table.refresh().delete("id = 2")
    append(table.refresh(), 3)
    limits = CaptureLimits(max_files=1)
    seen: list[int] = []
    for _ in range(4):
        capture = ledger.capture("db.t", consumer="c", mode="net", limits=limits)
        if capture.has_changes:
            seen += added(capture.changes)
            capture.commit()
    assert seen[-1] == 3


def test_limits_below_one_are_refused() -> None:
    with pytest.raises(UsageError) as error:
        CaptureLimits(max_rows=0)
    assert code_of(error) == "LIMIT_INVALID"
    assert "max_rows" in error.value.message
