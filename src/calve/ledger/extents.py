"""What a capture shows whose extent is given, and not derived from a consumer's position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calve.errors import UsageError
from calve.lake.model import Segment

RANGE = "range"
NET = "net"


@dataclass(frozen=True, slots=True)
class SourceRange:
    """All live files of a snapshot that overlap `[lower, upper)` of a column.

    Bounds are JSON-ready values as ranges have them; None is unbounded. `snapshot_id` None is a table
    without snapshots.
    """

    column: str
    lower: Any
    upper: Any
    snapshot_id: int | None

    @property
    def segment(self) -> Segment:
        """The stretch of history that made what is shown: all of it up to the snapshot."""
        return Segment(None, self.snapshot_id)

    def to_json(self) -> dict[str, Any]:
        """The extent as plain JSON."""
        bounds = {"column": self.column, "lower": self.lower, "upper": self.upper}
        return {"kind": RANGE, **bounds, "snapshot_id": self.snapshot_id}


@dataclass(frozen=True, slots=True)
class SourceNet:
    """Exactly what changed between two snapshots."""

    from_snapshot_exclusive: int | None
    to_snapshot_inclusive: int | None

    @property
    def segment(self) -> Segment:
        """The stretch of history that is shown."""
        return Segment(self.from_snapshot_exclusive, self.to_snapshot_inclusive)

    def to_json(self) -> dict[str, Any]:
        """The extent as plain JSON."""
        return {
            "kind": NET,
            "from_snapshot_exclusive": self.from_snapshot_exclusive,
            "to_snapshot_inclusive": self.to_snapshot_inclusive,
        }


Extent = SourceRange | SourceNet


def extent_from_json(raw: Mapping[str, Any]) -> Extent:
    """The inverse of `to_json`. Raises BACKFILL_SCOPE_INVALID."""
    try:
        if raw["kind"] == RANGE:
            return SourceRange(raw["column"], raw["lower"], raw["upper"], raw["snapshot_id"])
        if raw["kind"] == NET:
            return SourceNet(raw["from_snapshot_exclusive"], raw["to_snapshot_inclusive"])
    except (KeyError, TypeError) as error:
        raise _invalid(f"an extent lacks {error}") from error
    raise _invalid(f"found the kind {raw['kind']!r}; expected {RANGE} or {NET}")


def _invalid(message: str) -> UsageError:
    return UsageError(
        "BACKFILL_SCOPE_INVALID", message, "chunks are started by `calve backfill`, not by hand"
    )
