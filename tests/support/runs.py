"""Runs of a workflow that capture, write once and commit, and may die at any point of it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyiceberg.table import Table

from calve.lake.model import Mode
from calve.ledger.capture import Capture
from calve.ledger.ledger import Ledger
from calve.ledger.limits import CaptureLimits
from calve.ledger.options import CaptureOptions
from calve.ledger.writes import landed_snapshot, marker_of, note_begun, note_landed, writes_of
from calve.spark.once.scope import STATEMENT_PROPERTY
from support.ledgers import SCHEMA, head, rows


class Runs:
    """The runs of one consumer over some tables. A run that is not in `live` has ended."""

    def __init__(self, ledger: Ledger, consumer: str, tables: list[str], target: Table, mode: Mode) -> None:
        self.ledger = ledger
        self.consumer = consumer
        self.tables = tables
        self.target = target
        self.options = CaptureOptions(mode=mode)
        self.live: set[str] = set()

    def capture(self, run: str, limits: CaptureLimits | None = None) -> Capture:
        self.live.add(run)
        return self.ledger.take(
            self.tables,
            consumer=self.consumer,
            options=self.options,
            run_ref=run,
            limits=limits,
            is_abandoned=lambda other: other not in self.live,
        )

    def end(self, run: str) -> None:
        self.live.discard(run)

    def process(self, run: str, limits: CaptureLimits | None = None) -> Iterator[str]:
        """One run from beginning to end; it dies where the caller stops asking for the next point."""
        capture = self.capture(run, limits)
        yield "captured"
        for number, changes in enumerate(capture.sources):
            statement = f"write/{number}"
            if self.has_landed(capture.id, statement):
                continue
            self.begin(capture.id, statement, run)
            yield "begun"
            found = rows(changes.icdc_metadata_location)
            snapshot = self.land(marker_of(capture.id, statement), found) if found else None
            yield "landed"
            if snapshot is not None:
                self.note(capture.id, statement, snapshot)
            yield "noted"
        self.ledger.commit(capture.id, run_ref=run)
        self.end(run)
        yield "committed"

    def has_landed(self, capture_id: str, statement: str) -> bool:
        with self.ledger._database.read() as connection:
            known = {x.statement for x in writes_of(connection, capture_id) if x.landed_at is not None}
        marker = marker_of(capture_id, statement)
        return statement in known or landed_snapshot(self.ledger.lake, self.target_name, marker) is not None

    def begin(self, capture_id: str, statement: str, run: str | None = None) -> None:
        with self.ledger._database.write() as connection:
            note_begun(connection, capture_id, statement, self.target_name, "hash", run)

    def land(self, marker: str, ids: list[int], branch: str = "main") -> int:
        """A snapshot of the target with these rows, which carries a marker."""
        frame = pa.table({"id": ids, "value": [f"v{i}" for i in ids]}, schema=SCHEMA)
        self.target.refresh().append(frame, snapshot_properties={STATEMENT_PROPERTY: marker}, branch=branch)
        return head(self.target)

    def note(self, capture_id: str, statement: str, snapshot: int) -> None:
        with self.ledger._database.write() as connection:
            note_landed(connection, capture_id, statement, snapshot)

    @property
    def target_name(self) -> str:
        return ".".join(self.target.name())

    def written(self) -> list[int]:
        """The ids in the target, each as often as it was written."""
        found: list[int] = self.target.refresh().scan().to_arrow()["id"].to_pylist()
        return sorted(found)
