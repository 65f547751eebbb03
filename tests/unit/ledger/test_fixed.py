"""Captures of a given extent: crash-safe and committed as others are, and no position knows of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table

from calve.errors import CalveError
from calve.lake import open_table
from calve.lake.live import write_live
from calve.ledger import writing
from calve.ledger.capture import Capture
from calve.ledger.extents import Extent, SourceNet, SourceRange
from calve.ledger.ledger import Ledger
from calve.ledger.options import CaptureOptions
from calve.ledger.records import Status
from calve.ledger.writes import note_begun, note_landed
from support.faults import Died, die_after, die_before
from support.ledgers import added, append, code_of, head, make_ledger, make_table, rows

pytestmark = pytest.mark.slow

CHUNK = "backfill-7/0/3.1/capture"
RUN = "backfill-7.w/1/capture"


def extents(ledger: Ledger, table: Table, lower: Any = None, upper: Any = None) -> Mapping[str, Extent]:
    """A range of ids of a table, as it is now."""
    return {f"lake.{'.'.join(table.name())}": SourceRange("id", lower, upper, head(table))}


def take(ledger: Ledger, found: Mapping[str, Extent], **more: Any) -> Capture:
    asked = {"consumer": CHUNK, "options": CaptureOptions(), "run_ref": RUN, **more}
    return ledger.take_fixed(sorted(found), found, **asked)


def test_a_range_is_captured_and_no_position_knows_of_it(ledger: Ledger, table: Table) -> None:
    append(table, 1, 2)
    append(table, 5, 9)
    append(table, 20, 21)
    ledger.capture("db.t", consumer="regular").commit()
    before = ledger.checkpoints()
    capture = take(ledger, extents(ledger, table, 2, 6), options=CaptureOptions(range_columns=("id",)))
    assert added(capture.changes) == [1, 2, 5, 9]
    assert capture.row_filter is not None
    assert (capture.ranges["id"].lower, capture.ranges["id"].upper) == (2, 5)
    assert ledger.checkpoints() == before
    assert [found.position.consumer for found in ledger.lag()] == ["regular"]
    capture.commit()
    assert ledger.get(capture.id).record.status is Status.COMMITTED
    assert ledger.checkpoints() == before
    with pytest.raises(CalveError) as error:
        ledger.checkpoints(consumer=CHUNK)
    assert code_of(error) == "CONSUMER_NOT_FOUND"
    with pytest.raises(CalveError) as error:
        ledger.reset_checkpoint("db.t", consumer=CHUNK)
    assert code_of(error) == "CHECKPOINT_NOT_FOUND"


def test_what_changed_between_two_snapshots_shows_removals_whatever_the_options_say(
    ledger: Ledger, table: Table
) -> None:
    first = append(table, 1, 2)
    append(table, 3)
    table.refresh().delete("id = 2")
    net = {"lake.db.t": SourceNet(first, head(table))}
    capture = take(ledger, net)
    assert capture.mode == "net"
    assert rows(capture.removed_metadata_location) == [1, 2]
    assert (capture.from_snapshot_id, capture.to_snapshot_id) == (first, head(table))


def test_asked_again_by_the_same_run_it_is_the_same_also_in_another_process(
    ledger: Ledger, table: Table, home: Path, state_url: str
) -> None:
    append(table, 1)
    found = extents(ledger, table)
    capture = take(ledger, found)
    append(table, 2)
    with make_ledger(home, state_url) as other:
        again = take(other, found)
    assert again.id == capture.id
    assert again.icdc_table == capture.icdc_table
    capture.release()
    fresh = take(ledger, found)
    assert fresh.id != capture.id
    assert added(fresh.changes) == [1]


@pytest.mark.parametrize("dying", [die_before, die_after])
def test_one_that_died_is_finished_by_the_next_request(ledger: Ledger, table: Table, dying: Any) -> None:
    append(table, 1)
    found = extents(ledger, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "write_live", dying(write_live))
        with pytest.raises(Died):
            take(ledger, found)
    (reserved,) = ledger._store.open_captures()
    assert reserved.ready_at is None
    capture = take(ledger, found)
    assert capture.id == reserved.id
    assert added(capture.changes) == [1]
    capture.commit()
    ledger.gc(timedelta())
    assert ledger.lake.catalog("lake").list_tables("icdc") == []


def test_chunks_have_tables_of_their_own(ledger: Ledger, table: Table) -> None:
    append(table, 1, 2, 3)
    found = extents(ledger, table, 1, 3)
    first = take(ledger, found)
    other = take(ledger, found, consumer="backfill-7/0/4.1/capture", run_ref="backfill-7.w/2/capture")
    assert first.icdc_table != other.icdc_table


def test_one_that_an_ended_run_has_left_is_released_unless_its_writes_have_landed(
    ledger: Ledger, table: Table
) -> None:
    append(table, 1)
    found = extents(ledger, table)
    left = take(ledger, found)
    with pytest.raises(CalveError) as error:
        take(ledger, found, run_ref="backfill-7.w/2/capture", is_abandoned=lambda run: False)
    assert code_of(error) == "CAPTURE_OPEN"
    second = take(ledger, found, run_ref="backfill-7.w/2/capture", is_abandoned=lambda run: True)
    assert second.id != left.id
    assert ledger.get(left.id).record.status is Status.RELEASED
    with ledger.database.write() as connection:
        note_begun(connection, second.id, "write/1", "lake.db.t", "text")
        note_landed(connection, second.id, "write/1", 1)
    assert ledger.landed(second.id)
    third = take(ledger, found, run_ref="backfill-7.w/3/capture", is_abandoned=lambda run: True)
    assert third.id == second.id
    assert third.record.run_ref == "backfill-7.w/3/capture"


def test_several_tables_are_captured_each_by_its_own_extent(ledger: Ledger, table: Table) -> None:
    other = make_table(ledger, "db.u")
    start = append(table, 1)
    append(table, 2)
    append(other, 8, 9)
    both = {"lake.db.t": SourceNet(start, head(table)), **extents(ledger, other, 9)}
    capture = take(ledger, both)
    assert [added(changes) for changes in capture.sources] == [[2], [8, 9]]
    assert capture.aliases == ("t", "u")
    capture.commit()
    assert ledger.checkpoints() == []


def test_a_table_that_was_empty_has_nothing_whatever_it_has_by_now(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    capture = take(ledger, {"lake.db.t": SourceRange("id", None, None, None)})
    assert not capture.has_changes
    assert added(capture.changes) == []


def test_history_that_is_gone_is_told(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    append(table, 2)
    table.refresh().maintenance.expire_snapshots().by_id(first).commit()
    assert not open_table(ledger.lake, "db.t").metadata.has_snapshot(first)
    with pytest.raises(CalveError) as error:
        take(ledger, {"lake.db.t": SourceNet(first, head(table))})
    assert code_of(error) == "HISTORY_EXPIRED"
    assert ledger._store.open_captures() == []
