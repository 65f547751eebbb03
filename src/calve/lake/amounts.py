"""How much data: files, records and bytes, as snapshots' own summaries tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calve.lake.metadata import Snapshot


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of files, the records in them, and their size."""

    files: int = 0
    records: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.files + other.files, self.records + other.records, self.bytes + other.bytes)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.files - other.files, self.records - other.records, self.bytes - other.bytes)

    def to_json(self) -> dict[str, int]:
        """The amount as the CLI and the API show it."""
        return {"files": self.files, "records": self.records, "bytes": self.bytes}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Amount:
        """The inverse of `to_json`; other keys are left alone."""
        return cls(raw["files"], raw["records"], raw["bytes"])


def count(snapshot: Snapshot, key: str) -> int:
    """A number of a snapshot's summary; writers leave out what is 0."""
    return int(snapshot.summary.get(key, 0))


def added_by(snapshot: Snapshot) -> Amount:
    """What a snapshot added."""
    return Amount(
        count(snapshot, "added-data-files"),
        count(snapshot, "added-records"),
        count(snapshot, "added-files-size"),
    )


def held_at(snapshot: Snapshot) -> Amount:
    """What the table held at a snapshot; what the snapshot added, where the totals are not told."""
    if "total-data-files" not in snapshot.summary:
        return added_by(snapshot)
    return Amount(
        count(snapshot, "total-data-files"),
        count(snapshot, "total-records"),
        count(snapshot, "total-files-size"),
    )
