"""What the ledger keeps, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from calve.lake.lookback import Lookback
from calve.lake.model import Changes, Segment
from calve.ledger.asks import Source
from calve.ledger.chain import Chain, is_empty
from calve.ledger.extents import Extent
from calve.ledger.options import CaptureOptions


class Status(StrEnum):
    """The life of a capture: open, then one of the others for good."""

    OPEN = "open"
    COMMITTED = "committed"  # its changes are accounted for
    RELEASED = "released"  # given back: its changes belong to the next capture
    FAILED = "failed"  # its tables could not be written; it was never handed out


@dataclass(frozen=True, slots=True)
class Position:
    """Where a consumer is in one branch of one table. `id` None: not stored yet.

    `known` false is a position that was reset; `settled_at` None says that nothing was ever
    committed or set, so that nothing is lost by starting somewhere else.
    """

    id: int | None
    version: int
    consumer: str
    table_uuid: str
    branch: str
    table_name: str
    known: bool
    chain: Chain
    settled_at: int | None
    updated_at: int


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One table of a capture: the stretches it has, and what was written for them."""

    position_id: int
    table_name: str
    table_uuid: str
    branch: str
    segments: tuple[Segment, ...]
    changes: Changes | None
    alias: str
    range_columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaptureRecord:
    """A capture: who, what, when, for which run, with what outcome."""

    id: str
    consumer: str
    status: Status
    options: CaptureOptions
    start_from: str | None
    owner: str
    run_ref: str | None
    outcome: Mapping[str, Any] | None
    keep: bool
    created_at: int
    ready_at: int | None
    committed_at: int | None
    released_at: int | None
    failed_at: int | None
    dropped_at: int | None
    expires_at: int | None  # None: when the settings say
    lookback: tuple[Lookback, ...]  # one for each source; empty if none was asked for
    sources: tuple[SourceRecord, ...]
    #: What it shows of each source, where that was given and no position decided it; else empty.
    extents: tuple[Extent, ...] = ()

    @property
    def is_fixed(self) -> bool:
        """Whether its extent was given: then it holds no stretch of any position, and moves none."""
        return bool(self.extents)

    @property
    def changes(self) -> tuple[Changes, ...]:
        """What was written, one for each table; empty until the capture is ready."""
        return tuple(source.changes for source in self.sources if source.changes is not None)

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing in it to process, so that it need not be waited for."""
        if all(is_empty(segment) for source in self.sources for segment in source.segments):
            return True
        return self.ready_at is not None and not any(found.has_changes for found in self.changes)

    def source_options(self) -> list[CaptureOptions]:
        """The options of each source, with its own branch and range columns."""
        return [replace(self.options, branch=x.branch, range_columns=x.range_columns) for x in self.sources]


def request_json(
    options: CaptureOptions,
    start_from: str | None,
    sources: Sequence[Source],
    extents: Sequence[Extent] = (),
) -> dict[str, Any]:
    """What was asked for, as the ledger keeps it."""
    own = [{"alias": x.alias, "range_columns": list(x.options.range_columns)} for x in sources]
    given = {"extents": [extent.to_json() for extent in extents]} if extents else {}
    return {**options.to_json(), "start_from": start_from, "sources": own, **given}
