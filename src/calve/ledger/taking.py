"""Taking a capture: read, decide, plan, reserve, write, note what was written.

A crash at any point leaves either nothing, or an open capture that has its stretches but no
tables; the next request for it writes them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, and_, or_

from calve.errors import CalveError, ConflictError, RefusedError, UsageError
from calve.lake import Lake, Lookback, measure_lookback, verify_changes
from calve.lake.model import Segment
from calve.lake.tables import SourceTable
from calve.ledger.abandoned import IsAbandoned, find_stranded
from calve.ledger.asks import Source
from calve.ledger.chain import Chain
from calve.ledger.choosing import Adopt, Ask, Spot, Take, choose
from calve.ledger.contending import take_in_rounds
from calve.ledger.holds import hold_of
from calve.ledger.records import CaptureRecord, Position, SourceRecord
from calve.ledger.renamed import open_source
from calve.ledger.store import MovedError, NewCapture, Store
from calve.ledger.writing import Writer, plan_tables, salt_of, write_tables
from calve.state.clock import expiry_of, now_ms
from calve.state.schema import chains


class Taker:
    """Takes captures on a lake and notes them in a store."""

    def __init__(self, lake: Lake, store: Store, writer: Writer) -> None:
        self._lake = lake
        self._store = store
        self._writer = writer

    def take(self, ask: Ask, is_abandoned: IsAbandoned | None = None) -> CaptureRecord:
        """The capture for a request, with its tables written. `is_abandoned` says of a run whether
        it has ended, so that its open capture may be released or taken over."""
        return take_in_rounds(ask.consumer, lambda: self._attempt(ask, is_abandoned))

    def _attempt(self, ask: Ask, is_abandoned: IsAbandoned | None) -> CaptureRecord:
        spots, open_captures = self._look(ask, self._open(ask.sources))
        stranded = (
            find_stranded(self._store.database, self._lake, open_captures, ask.run_ref, is_abandoned)
            if is_abandoned is not None
            else []
        )
        chosen = choose(ask, spots, open_captures, stranded)
        if isinstance(chosen, CaptureRecord):
            return self._resume(chosen, spots)
        if isinstance(chosen, Adopt):
            adopted = self._store.adopt(
                chosen.adopted,
                chosen.abandoned,
                owner=ask.owner,
                run_ref=ask.run_ref,
                expires_at=expiry_of(ask.ttl),
            )
            return self._resume(adopted, spots)
        return self._begin(ask, spots, chosen)

    def _begin(self, ask: Ask, spots: Sequence[Spot], chosen: Take) -> CaptureRecord:
        new = NewCapture(
            id=f"cap_{secrets.token_hex(10)}",
            consumer=ask.consumer,
            options=ask.options,
            sources=ask.sources,
            start_from=ask.start_from,
            owner=ask.owner,
            run_ref=ask.run_ref,
            takes=chosen.takes,
            supersedes=chosen.supersedes,
            abandoned=chosen.abandoned,
            lookback=_look_back(ask, spots),
            expires_at=expiry_of(ask.ttl),
            holds=tuple(spot.hold for spot in spots),
        )
        segments = [taken for _, taken in new.takes]
        options = [source.options for source in new.sources]
        plans = plan_tables([spot.table for spot in spots], segments, options, new.consumer, new.id)
        return write_tables(self._store, self._writer, self._store.reserve(new), plans)

    def _open(self, sources: Sequence[Source]) -> list[SourceTable]:
        tables = [open_source(self._lake, self._store, source.table) for source in sources]
        places = {(t.uuid, source.options.branch) for t, source in zip(tables, sources, strict=True)}
        if len(places) < len(tables):
            raise UsageError(
                "TABLE_NAMED_TWICE",
                f"a table is named twice: {', '.join(str(table.name) for table in tables)}",
                "name each table once",
            )
        return tables

    def _look(self, ask: Ask, tables: Sequence[SourceTable]) -> tuple[list[Spot], list[CaptureRecord]]:
        asked = list(zip(ask.sources, tables, strict=True))
        holds = self._store.holds(ask.consumer)
        found, open_captures = self._store.view(_of(ask, asked))
        spots = [
            Spot(
                source,
                _as_of_now(table, found),
                _position(ask, source, table, found),
                hold_of(holds, ask.consumer, table.uuid, source.options.branch),
            )
            for source, table in asked
        ]
        if any(spot.table.uuid != table.uuid for spot, table in zip(spots, tables, strict=True)):
            raise MovedError
        wanted = {spot.position.id for spot in spots}
        touching = [x for x in open_captures if wanted & {source.position_id for source in x.sources}]
        return spots, touching

    def _resume(self, record: CaptureRecord, spots: Sequence[Spot]) -> CaptureRecord:
        at_position = {spot.position.id: spot for spot in spots}
        ordered = [at_position[source.position_id] for source in record.sources]
        tables = [spot.table for spot in ordered]
        if record.ready_at is None:
            record = self._finish(record, tables)
        else:
            self._verify(record, tables)
        return self._describe(record, tables, [spot.source for spot in ordered])

    def _verify(self, record: CaptureRecord, tables: Sequence[SourceTable]) -> None:
        for table, changes in zip(tables, record.changes, strict=True):
            try:
                verify_changes(self._lake, replace(changes, table=str(table.name)))
            except RefusedError as error:
                remedy = f"`calve release {record.id}`, then capture again. {error.remedy}"
                raise RefusedError(error.code, error.message, remedy) from error

    def _finish(self, record: CaptureRecord, tables: Sequence[SourceTable]) -> CaptureRecord:
        """Write the tables of a capture whose process died before it had, or is still at it."""
        try:
            options = record.source_options()
            plans = plan_tables(tables, _segments(record), options, record.consumer, salt_of(record.id))
        except CalveError as error:
            # Nobody ever saw this capture, so another one can take its place.
            self._store.fail(record.id, error)
            raise MovedError from error
        return write_tables(self._store, self._writer, record, plans)

    def _describe(
        self, record: CaptureRecord, tables: Sequence[SourceTable], asked: Sequence[Source]
    ) -> CaptureRecord:
        """Tell the ranges of further columns, under other aliases. The tables of the capture stay as
        they are."""
        sources = [_widened(own, source) for own, source in zip(record.sources, asked, strict=True)]
        if all(_is_told(own, source) for own, source in zip(record.sources, sources, strict=True)):
            return record
        options = [source.options for source in sources]
        plans = plan_tables(tables, _segments(record), options, record.consumer, salt_of(record.id))
        again = self._writer.write(plans)
        self._writer.drop(again)
        described = [
            replace(changes, ranges=new.ranges, warnings=new.warnings)
            for changes, new in zip(record.changes, again, strict=True)
        ]
        try:
            return self._store.describe_again(record.id, described, sources)
        except ConflictError as ended:
            raise MovedError from ended


def _widened(own: SourceRecord, asked: Source) -> Source:
    """What is asked of a table, with what was asked of it before."""
    more = (x for x in asked.options.range_columns if x not in own.range_columns)
    options = replace(asked.options, range_columns=(*own.range_columns, *more))
    return replace(asked, options=options)


def _is_told(own: SourceRecord, source: Source) -> bool:
    return own.alias == source.alias and own.range_columns == source.options.range_columns


def _look_back(ask: Ask, spots: Sequence[Spot]) -> tuple[Lookback, ...]:
    window = ask.lookback
    if window is None:
        return ()
    now = now_ms()
    wanted = ((spot.table, spot.source.options) for spot in spots)
    return tuple(measure_lookback(table, x.branch, window, x.range_columns, now) for table, x in wanted)


def _segments(record: CaptureRecord) -> list[tuple[Segment, ...]]:
    return [source.segments for source in record.sources]


def _of(ask: Ask, asked: Sequence[tuple[Source, SourceTable]]) -> ColumnElement[bool]:
    meant = [
        and_(
            chains.c.branch == source.options.branch,
            or_(chains.c.table_name == str(table.name), chains.c.table_uuid == table.uuid),
        )
        for source, table in asked
    ]
    return and_(chains.c.consumer == ask.consumer, or_(*meant))


def _as_of_now(table: SourceTable, found: Sequence[Position]) -> SourceTable:
    # The head must be younger than the position, or a capture that another process took in
    # between would look like a rollback.
    seen = any(position.known and position.table_uuid == table.uuid for position in found)
    return table.refresh() if seen else table


def _position(ask: Ask, source: Source, table: SourceTable, found: Sequence[Position]) -> Position:
    name, branch = str(table.name), source.options.branch
    here = [x for x in found if x.branch == branch]
    stored = next((x for x in here if x.table_uuid == table.uuid), None)
    if stored is not None and stored.known:
        return stored
    other = next((x for x in here if x.known and x.table_name == name and x.table_uuid != table.uuid), None)
    if other is not None:
        raise RefusedError(
            "TABLE_RECREATED",
            f"{name} is another table than the one consumer {ask.consumer} has a checkpoint on: "
            f"found uuid {table.uuid}, expected {other.table_uuid}",
            f"`calve checkpoint reset {name} --consumer {ask.consumer}` starts over with the new table, "
            "`calve checkpoint set` starts from a snapshot of it; if the old table was renamed, "
            "capture it under its new name first",
        )
    return stored or Position(None, 0, ask.consumer, table.uuid, branch, name, False, Chain(), None, 0)
