"""From tables and positions to what waits for a trigger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from calve.engine.outbox import dump
from calve.engine.triggers.tables.decision import Amounts, TableLook
from calve.engine.triggers.tables.rows import TriggerRow
from calve.engine.triggers.tables.seen import Head, Seen
from calve.engine.triggers.tables.watches import Watch
from calve.errors import CalveError
from calve.lake.catalogs import TableName
from calve.lake.lag import NO_LAG, Lag, measure_lag
from calve.lake.locating import Located, Places, guarded
from calve.lake.model import Segment
from calve.lake.tables import SourceTable
from calve.ledger.chain import Chain, LinkState
from calve.ledger.holds import Hold, held_head, hold_of
from calve.ledger.lag import recreated
from calve.ledger.records import Position


@dataclass(frozen=True, slots=True)
class Measured:
    """What waits for a trigger, and what a start has to remember of it."""

    tables: tuple[TableLook, ...]
    seen: Seen


class Tables:
    """The tables of one look: each is opened when it is first asked for, and once."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._opened: dict[TableName, SourceTable | CalveError] = {}

    def open(self, name: TableName | CalveError) -> SourceTable:
        """The table as it was when it was located. Raises as `open_table` does."""
        found = name if isinstance(name, CalveError) else self._find(name)
        if isinstance(found, CalveError):
            raise found
        return found

    def _find(self, name: TableName) -> SourceTable | CalveError:
        if name not in self._opened:
            place = self.places[name]
            self._opened[name] = place.open() if isinstance(place, Located) else place
        return self._opened[name]


class Positions:
    """Where the consumers are that matter to a look."""

    def __init__(self, positions: Iterable[Position], holds: Iterable[Hold] = ()) -> None:
        self._holds = tuple(holds)
        self._by_consumer: dict[str, list[Position]] = {}
        for position in positions:
            self._by_consumer.setdefault(position.consumer, []).append(position)

    def of(self, watches: Iterable[Watch]) -> tuple[tuple[tuple[int | None, int], ...], tuple[Hold, ...]]:
        """What changes when one of the positions behind some watches does, or what holds them."""
        consumers = {watch.consumer for watch in watches if watch.consumer is not None}
        stands = ((x.id, x.version) for name in sorted(consumers) for x in self._by_consumer.get(name, ()))
        return tuple(stands), tuple(hold for hold in self._holds if hold.consumer in consumers)

    def hold(self, watch: Watch, table: SourceTable) -> Hold | None:
        """What keeps the consumer of a watch from capturing all there is; None if nothing does."""
        return hold_of(self._holds, watch.consumer or "", table.uuid, watch.branch)

    def find(self, watch: Watch, table: SourceTable) -> Position | None:
        """The position of a watch's consumer. Raises TABLE_RECREATED if it is that of a table now gone."""
        assert watch.consumer is not None
        in_branch = [x for x in self._by_consumer.get(watch.consumer, ()) if x.branch == watch.branch]
        for position in in_branch:
            if position.table_uuid == table.uuid:
                return position
        for position in in_branch:
            if position.table_name == str(table.name):
                raise recreated(position, table.uuid)
        return None


def measure(row: TriggerRow, watches: Sequence[Watch], tables: Tables, positions: Positions) -> Measured:
    """What waits for a trigger. A table that cannot be read is told of, not raised."""
    seen = Seen.from_text(row.seen)
    made = Seen(seen.since_ms, row.active_version, dict(seen.heads), {})
    return Measured(tuple(_try_look(watch, tables, positions, seen, made) for watch in watches), made)


def _try_look(watch: Watch, tables: Tables, positions: Positions, seen: Seen, made: Seen) -> TableLook:
    found = guarded(lambda: _look(watch, tables.open(watch.name), positions, seen, made), watch.table)
    if isinstance(found, CalveError):
        return TableLook(watch.table, watch.branch, watch.consumer, error=found)
    return found


def _look(watch: Watch, table: SourceTable, positions: Positions, seen: Seen, made: Seen) -> TableLook:
    position = None if watch.consumer is None else positions.find(watch, table)
    hold = positions.hold(watch, table)
    before = seen.heads.get(watch.key)
    start = _start(watch, table, before, seen)
    head = held_head(table.metadata, watch.branch, start, hold)
    fresh = _lag(watch, table, Segment(start, head))
    lag = fresh
    accounted = ""
    if watch.consumer is not None:
        chain = Chain() if position is None else position.chain
        # A capture would take no more than that.
        lag = _lag(watch, table, *chain.uncommitted(held_head(table.metadata, watch.branch, chain.end, hold)))
        # What no start has seen is new only as far as it is not accounted for.
        fresh = lag if before is None else fresh
        accounted = _accounted_by(chain)
    account = f"{watch.consumer} {watch.key}"
    made.heads[watch.key] = Head(table.uuid, head)
    made.accounted[account] = accounted
    return TableLook(
        watch.table,
        watch.branch,
        watch.consumer,
        head,
        Amounts(lag.snapshots, lag.files, lag.records, lag.bytes),
        lag.oldest_timestamp_ms,
        min(fresh.snapshots, lag.snapshots),
        seen.accounted.get(account, accounted) != accounted,
    )


def _start(watch: Watch, table: SourceTable, before: Head | None, seen: Seen) -> int | None:
    """Up to where the trigger has seen a table; one that was made anew, it has not."""
    if before is not None:
        return before.snapshot_id if before.uuid == table.uuid else None
    return table.metadata.snapshot_before(seen.since_ms, watch.branch)


def _lag(watch: Watch, table: SourceTable, *segments: Segment) -> Lag:
    if all(segment.from_snapshot_exclusive == segment.to_snapshot_inclusive for segment in segments):
        return NO_LAG
    return measure_lag(table, segments, watch.operations)


def _accounted_by(chain: Chain) -> str:
    """What a consumer has accounted for, as a text: committing changes it, capturing does not."""
    ahead = [
        [link.span.from_snapshot_exclusive, link.span.to_snapshot_inclusive]
        for link in chain.links
        if link.state is LinkState.COMMITTED
    ]
    return dump([chain.frontier, ahead])
