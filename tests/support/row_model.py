"""A table as a plain dictionary of rows: what each snapshot held, and what it appended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.table import Table

from calve.lake.model import Segment
from support.ledgers import SCHEMA

Rows = Counter[int]


@dataclass
class TableModel:
    """A real table, and beside it what it must show. Every row ever appended has its own id."""

    table: Table
    first_id: int
    parents: dict[int | None, int | None] = field(default_factory=dict)
    states: dict[int | None, frozenset[int]] = field(default_factory=lambda: {None: frozenset()})
    appended: dict[int | None, frozenset[int]] = field(default_factory=dict)
    current: int | None = None
    expired: set[int] = field(default_factory=set)
    disturbed: bool = False  # history was rewritten or expired, so that refusals are in order

    @property
    def live(self) -> frozenset[int]:
        """The rows of the table now."""
        return self.states[self.current]

    @property
    def snapshots(self) -> list[int]:
        """All snapshots that have not expired."""
        return [x for x in self.parents if x is not None and x not in self.expired]

    def append(self, rows: int) -> None:
        new = range(self.first_id, self.first_id + rows)
        self.first_id += rows
        self.table.append(pa.table({"id": list(new), "value": [f"v{i}" for i in new]}, schema=SCHEMA))
        self._follow(frozenset(new), frozenset())

    def delete(self, gone: Iterable[int]) -> None:
        self.table.delete(f"id in ({', '.join(map(str, gone))})")
        self._follow(frozenset(), frozenset(gone))

    def go_to(self, snapshot: int) -> None:
        self.table.manage_snapshots().set_current_snapshot(snapshot).commit()
        self.table.refresh()
        self.disturbed = self.disturbed or snapshot != self.current
        self.current = snapshot

    def expire(self, snapshots: Sequence[int]) -> None:
        gone = [snapshot for snapshot in snapshots if snapshot != self.current]
        if gone:
            self.table.maintenance.expire_snapshots().by_ids(gone).commit()
            self.table.refresh()
            self.expired |= set(gone)
            self.disturbed = True

    def _follow(self, new: frozenset[int], gone: frozenset[int]) -> None:
        """Note what a write did. A delete may take two snapshots, of which only the second is done."""
        known = set(self.parents)
        before = self.live
        made = [x.snapshot_id for x in self.table.refresh().snapshots() if x.snapshot_id not in known]
        for snapshot in made:
            self.parents[snapshot] = self.current
            self.states[snapshot] = self._rows_at(snapshot) if snapshot != made[-1] else (before - gone) | new
            self.appended[snapshot] = new
            self.current = snapshot

    def _rows_at(self, snapshot: int) -> frozenset[int]:
        return frozenset(self.table.scan(snapshot_id=snapshot).to_arrow()["id"].to_pylist())

    def net(self, segment: Segment) -> Rows:
        """How often each row came (or, below zero, went) over a stretch."""
        change = Counter(self.states[segment.to_snapshot_inclusive])
        change.subtract(Counter(self.states[segment.from_snapshot_exclusive]))
        return change

    def ever_appended(self, segment: Segment) -> Rows:
        """All rows that the appends of a stretch brought."""
        found: Rows = Counter()
        for snapshot in self._back(segment):
            found.update(self.appended[snapshot])
        return found

    def appends(self, segment: Segment) -> Rows:
        """The same, as far as it can still be seen: where history before a stretch without a start
        has expired, the oldest state there is stands for everything that led to it."""
        found: Rows = Counter()
        for snapshot in self._back(segment):
            if segment.from_snapshot_exclusive is None and self.parents[snapshot] in self.expired:
                return found + Counter(self.states[snapshot])
            found.update(self.appended[snapshot])
        return found

    def _back(self, segment: Segment) -> Iterator[int]:
        snapshot = segment.to_snapshot_inclusive
        while snapshot != segment.from_snapshot_exclusive:
            assert snapshot is not None, "the stretch does not lead back to its start"
            yield snapshot
            snapshot = self.parents[snapshot]
