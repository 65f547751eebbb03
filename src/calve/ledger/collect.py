"""Removing ICDC tables that nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from calve.lake import Lake, collect_orphans, drop_changes
from calve.ledger.records import CaptureRecord
from calve.ledger.store import Store
from calve.settings import IcdcSettings
from calve.state.clock import now_ms


@dataclass(frozen=True, slots=True)
class Collected:
    """What a collection did, or would do."""

    dropped: tuple[str, ...]  # captures whose ICDC tables went
    stale_open: tuple[str, ...]  # captures that are open for longer than their ttl or the limit
    released: tuple[str, ...]  # those of them that were released
    orphans: tuple[str, ...]  # locations of half-written ICDC tables that went
    failures: tuple[str, ...]  # what could not be removed, and why
    dry_run: bool

    def to_json(self) -> dict[str, Any]:
        """The outcome as the CLI and the API show it."""
        return {
            "dropped": list(self.dropped),
            "stale_open": list(self.stale_open),
            "released": list(self.released),
            "orphans": list(self.orphans),
            "failures": list(self.failures),
            "dry_run": self.dry_run,
        }


def drop_tables(lake: Lake, store: Store, record: CaptureRecord) -> str | None:
    """Drop the ICDC tables of an ended capture; the reason if that was not possible just now."""
    try:
        for changes in record.changes:
            drop_changes(lake, changes)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is reported and tried again later
        return f"the ICDC tables of {record.id} are still there: {error}"
    store.note_dropped(record.id)
    return None


def collect(
    lake: Lake, store: Store, icdc: IcdcSettings, older_than: timedelta, *, dry_run: bool, release_open: bool
) -> Collected:
    """Drop the tables of ended captures, and what crashed captures left behind.

    Open captures that are past their ttl, or older than `older_than` if they have none, are
    reported, and released only if that is asked for: their owner may just be slow.
    """
    now = now_ms()
    limit = now - int(older_than.total_seconds() * 1000)
    stale = tuple(record.id for record in store.open_captures() if _is_stale(record, limit, now))
    releasing = stale if release_open else ()
    if dry_run:
        dropped = (*(record.id for record in _droppable(store)), *releasing)
        orphans = collect_orphans(lake, icdc, _needed(store), older_than, dry_run=True)
        return Collected(dropped, stale, releasing, tuple(orphans), (), dry_run=True)
    for capture_id in releasing:
        store.release(capture_id, f"open for longer than its ttl, or than {older_than}")
    outcome = [(record.id, drop_tables(lake, store, record)) for record in _droppable(store)]
    return Collected(
        dropped=tuple(capture_id for capture_id, failure in outcome if failure is None),
        stale_open=stale,
        released=releasing,
        orphans=tuple(collect_orphans(lake, icdc, _needed(store), older_than)),
        failures=tuple(failure for _, failure in outcome if failure is not None),
        dry_run=False,
    )


def _is_stale(record: CaptureRecord, limit: int, now: int) -> bool:
    """Whether a capture is past its own time, or, if it has none, older than the limit."""
    return record.created_at < limit if record.expires_at is None else record.expires_at <= now


def _droppable(store: Store) -> list[CaptureRecord]:
    """Ended captures whose tables may go; those that are to be kept stay for their ttl."""
    now = now_ms()
    return [
        record
        for record in store.undropped()
        if not record.keep or (record.expires_at is not None and record.expires_at <= now)
    ]


def _needed(store: Store) -> set[str]:
    return set(_locations([*store.open_captures(), *store.undropped()]))


def _locations(records: Iterable[CaptureRecord]) -> Iterable[str]:
    for record in records:
        for changes in record.changes:
            for location in (changes.icdc_metadata_location, changes.removed_metadata_location):
                if location is not None:
                    yield location
