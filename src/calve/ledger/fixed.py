"""Captures whose extent is given: of a range of a table, or of a stretch of its history.

They are kept, written, committed and released as others are, and belong to a consumer of their own; but they
hold no stretch of a position, and no position is ever known for that consumer.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from calve.errors import CalveError, RefusedError, UsageError
from calve.lake import ChangePlan, Lake, plan_changes, verify_changes
from calve.lake.live import LiveRequest
from calve.lake.model import Mode, Segment
from calve.lake.tables import SourceTable, open_table
from calve.ledger.abandoned import IsAbandoned, Stranded, find_stranded
from calve.ledger.asks import Source
from calve.ledger.chain import Chain
from calve.ledger.contending import take_in_rounds
from calve.ledger.extents import Extent, SourceNet
from calve.ledger.options import CaptureOptions
from calve.ledger.records import CaptureRecord, Position
from calve.ledger.store import MovedError, NewCapture, Store
from calve.ledger.writing import LivePlan, Plan, Writer, change_request, salt_of, write_tables
from calve.state.clock import expiry_of
from calve.state.schema import chains


@dataclass(frozen=True, slots=True)
class FixedAsk:
    """A request for a capture of these extents, one for each source."""

    sources: tuple[Source, ...]
    extents: tuple[Extent, ...]
    consumer: str
    options: CaptureOptions
    owner: str
    run_ref: str | None
    ttl: timedelta | None


class FixedTaker:
    """Takes captures of given extents on a lake and notes them in a store."""

    def __init__(self, lake: Lake, store: Store, writer: Writer) -> None:
        self._lake = lake
        self._store = store
        self._writer = writer

    def take(self, ask: FixedAsk, is_abandoned: IsAbandoned | None) -> CaptureRecord:
        """The capture, with its tables written: the one that this run has open, or a new one.

        A crash leaves nothing, or an open capture without tables, which the next request writes. One of the
        same consumer that an ended run has left is released, or taken over if writes under it have landed.
        Raises CAPTURE_OPEN if another run is at work for the consumer.
        """
        return take_in_rounds(ask.consumer, lambda: self._attempt(ask, is_abandoned))

    def _attempt(self, ask: FixedAsk, is_abandoned: IsAbandoned | None) -> CaptureRecord:
        tables = [open_table(self._lake, source.table) for source in ask.sources]
        found = self._store.open_of(ask.consumer)
        mine = [record for record in found if record.run_ref == ask.run_ref]
        if mine:
            return self._resume(_same(mine[0], ask), tables)
        stranded = self._stranded(ask, found, is_abandoned)
        for landed in (x for x in stranded if x.landed):
            others = [x for x in stranded if x is not landed]
            record = self._store.adopt(
                landed, others, owner=ask.owner, run_ref=ask.run_ref, expires_at=expiry_of(ask.ttl)
            )
            return self._resume(_same(record, ask), tables)
        return self._begin(ask, tables, stranded)

    def _stranded(
        self, ask: FixedAsk, found: Sequence[CaptureRecord], is_abandoned: IsAbandoned | None
    ) -> list[Stranded]:
        """What ended runs have left for the consumer. Raises CAPTURE_OPEN if a run is at work for it."""
        stranded = (
            []
            if is_abandoned is None
            else find_stranded(self._store.database, self._lake, found, ask.run_ref, is_abandoned)
        )
        left = {x.record.id for x in stranded}
        for record in found:
            if record.id not in left:
                raise _in_the_way(record, f"is open for {record.run_ref or record.owner}")
        return stranded

    def _begin(
        self, ask: FixedAsk, tables: Sequence[SourceTable], stranded: Sequence[Stranded]
    ) -> CaptureRecord:
        new = NewCapture(
            id=f"cap_{secrets.token_hex(10)}",
            consumer=ask.consumer,
            options=ask.options,
            sources=ask.sources,
            start_from=None,
            owner=ask.owner,
            run_ref=ask.run_ref,
            takes=self._takes(ask, tables),
            abandoned=tuple(stranded),
            expires_at=expiry_of(ask.ttl),
            extents=ask.extents,
        )
        own = [source.options for source in ask.sources]
        plans = _plans(tables, ask.extents, own, f"{ask.consumer}/{new.id}")
        return write_tables(self._store, self._writer, self._store.reserve(new), plans)

    def _takes(
        self, ask: FixedAsk, tables: Sequence[SourceTable]
    ) -> tuple[tuple[Position, tuple[Segment, ...]], ...]:
        """A position for each source that is there for its id only."""
        stored, _ = self._store.view(chains.c.consumer == ask.consumer)
        by_place = {(x.table_uuid, x.branch): x for x in stored}
        takes = []
        for source, table, extent in zip(ask.sources, tables, ask.extents, strict=True):
            branch, name = source.options.branch, str(table.name)
            fresh = Position(None, 0, ask.consumer, table.uuid, branch, name, False, Chain(), None, 0)
            position = by_place.get((table.uuid, branch), fresh)
            takes.append((replace(position, table_name=name), (extent.segment,)))
        if len({(position.table_uuid, position.branch) for position, _ in takes}) < len(takes):
            raise UsageError(
                "TABLE_NAMED_TWICE",
                f"a table is named twice: {', '.join(str(table.name) for table in tables)}",
                "name each table once",
            )
        return tuple(takes)

    def _resume(self, record: CaptureRecord, tables: Sequence[SourceTable]) -> CaptureRecord:
        if record.ready_at is not None:
            for table, changes in zip(tables, record.changes, strict=True):
                verify_changes(self._lake, replace(changes, table=str(table.name)))
            return record
        try:
            salt = f"{record.consumer}/{salt_of(record.id)}"
            plans = _plans(tables, record.extents, record.source_options(), salt)
        except CalveError as error:
            # Nobody ever saw this capture, so another one can take its place.
            self._store.fail(record.id, error)
            raise MovedError from error
        return write_tables(self._store, self._writer, record, plans)


def _plans(
    tables: Sequence[SourceTable],
    extents: Sequence[Extent],
    options: Sequence[CaptureOptions],
    salt: str,
) -> list[Plan]:
    return [_plan(*each, salt) for each in zip(tables, extents, options, strict=True)]


def _plan(table: SourceTable, extent: Extent, options: CaptureOptions, salt: str) -> Plan:
    if isinstance(extent, SourceNet):
        return _net_plan(table, extent, options, salt)
    if extent.snapshot_id is None:
        # The table was empty: what it has by now is not meant.
        return _net_plan(table, SourceNet(None, None), options, salt)
    request = LiveRequest(
        snapshot_id=extent.snapshot_id,
        column=extent.column,
        lower=extent.lower,
        upper=extent.upper,
        branch=options.branch,
        range_columns=options.range_columns,
        salt=salt,
    )
    return LivePlan(table, request)


def _net_plan(table: SourceTable, extent: SourceNet, options: CaptureOptions, salt: str) -> ChangePlan:
    # All that changed is meant, whatever operations the workflow wants to see of new snapshots.
    net = replace(options, mode=Mode.NET, operations=None)
    try:
        return plan_changes(table, change_request(net, (extent.segment,), salt))
    except UsageError as error:
        if error.code != "SNAPSHOT_NOT_FOUND":
            raise
        raise RefusedError(
            "HISTORY_EXPIRED",
            f"what changed in {table.name} is not known any more: {error.message}",
            "plan the backfill again",
        ) from error


def _same(record: CaptureRecord, ask: FixedAsk) -> CaptureRecord:
    """The record, if it is of what is asked for. Raises CAPTURE_OPEN."""
    asked = [(x.table, x.alias, x.options.range_columns) for x in ask.sources]
    kept = [(x.table_name, x.alias, x.range_columns) for x in record.sources]
    if [x[1:] for x in asked] != [x[1:] for x in kept] or record.extents != ask.extents:
        raise _in_the_way(record, "is open, and is not of what is asked for now")
    return record


def _in_the_way(record: CaptureRecord, reason: str) -> RefusedError:
    return RefusedError(
        "CAPTURE_OPEN",
        f"capture {record.id} of consumer {record.consumer} {reason}",
        f"`calve release {record.id}`, if nobody is at work with it, and try again",
    )
