"""How far consumers are behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calve.errors import CalveError, NotFoundError
from calve.lake import Lag, Lake, SourceTable, measure_lag
from calve.lake.lag import NO_LAG
from calve.lake.locating import open_tables
from calve.ledger.records import CaptureRecord, Position
from calve.state.clock import now_ms


@dataclass(frozen=True, slots=True)
class ConsumerLag:
    """What one consumer has not accounted for in one table. Open captures count as lag, until
    they are committed. `error` says why it cannot be known, and then the numbers are None."""

    position: Position
    head: int | None
    lag: Lag | None
    open_captures: tuple[str, ...]
    error: CalveError | None

    def to_json(self) -> dict[str, Any]:
        """The lag as the CLI and the API show it."""
        lag = self.lag
        return {
            "consumer": self.position.consumer,
            "table": self.position.table_name,
            "table_uuid": self.position.table_uuid,
            "branch": self.position.branch,
            "checkpoint_snapshot_id": self.position.chain.frontier,
            "current_snapshot_id": self.head,
            "snapshots": None if lag is None else lag.snapshots,
            "files": None if lag is None else lag.files,
            "records": None if lag is None else lag.records,
            "bytes": None if lag is None else lag.bytes,
            "seconds": None if lag is None else _seconds(lag),
            "open_captures": list(self.open_captures),
            "gaps": len(self.position.chain.gaps()),
            "error": None if self.error is None else self.error.to_json(),
        }


def lags_of(
    lake: Lake, positions: Sequence[Position], open_captures: Sequence[CaptureRecord]
) -> list[ConsumerLag]:
    """The lag at each position; each table is opened once, and one that cannot be is reported, not raised."""
    return lags_in(open_tables(lake, (x.table_name for x in positions)), positions, open_captures)


def lags_in(
    tables: Mapping[str, SourceTable | CalveError],
    positions: Sequence[Position],
    open_captures: Sequence[CaptureRecord],
) -> list[ConsumerLag]:
    """The lag at each position, in tables by the names that the positions have."""
    held: dict[int, list[str]] = defaultdict(list)
    for record in open_captures:
        for source in record.sources:
            held[source.position_id].append(record.id)
    return [
        _lag_of(position, tables[position.table_name], tuple(held[position.id or 0]))
        for position in positions
    ]


def _lag_of(position: Position, table: SourceTable | CalveError, held: tuple[str, ...]) -> ConsumerLag:
    try:
        if isinstance(table, CalveError):
            raise table
        if table.uuid != position.table_uuid:
            raise recreated(position, table.uuid)
        head = table.metadata.current_snapshot_id(position.branch)
        behind = position.chain.uncommitted(head)
        lag = measure_lag(table, behind) if behind else NO_LAG
    except CalveError as error:
        return ConsumerLag(position, None, None, held, error)
    return ConsumerLag(position, head, lag, held, None)


def recreated(position: Position, found: str) -> NotFoundError:
    """The error for a position in a table that was dropped and made anew under the same name."""
    return NotFoundError(
        "TABLE_RECREATED",
        f"{position.table_name} is another table now: found uuid {found}, expected {position.table_uuid}",
        f"`calve checkpoint reset {position.table_name} --consumer {position.consumer}` forgets the old one",
    )


def _seconds(lag: Lag) -> float:
    if lag.oldest_timestamp_ms is None:
        return 0.0
    return max(0.0, (now_ms() - lag.oldest_timestamp_ms) / 1000)
