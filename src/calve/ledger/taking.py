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
from calve.lake import ChangePlan, Lake, open_table, verify_changes
from calve.lake.model import Changes, Segment
from calve.lake.tables import SourceTable
from calve.ledger.chain import Chain
from calve.ledger.choosing import Ask, Spot, choose
from calve.ledger.records import CaptureRecord, Position
from calve.ledger.store import MovedError, NewCapture, Store
from calve.ledger.writing import Writer, plan_tables
from calve.settings import IcdcSettings
from calve.state.schema import chains

# Each round that is lost means that another process took a capture of the same consumer.
_ROUNDS = 100


class Taker:
    """Takes captures on a lake and notes them in a store."""

    def __init__(self, lake: Lake, store: Store, icdc: IcdcSettings) -> None:
        self._lake = lake
        self._store = store
        self._writer = Writer(lake, icdc)

    def take(self, ask: Ask) -> CaptureRecord:
        """The capture for a request, with its tables written."""
        for _ in range(_ROUNDS):
            try:
                return self._attempt(ask)
            except MovedError:
                continue
        raise ConflictError(
            "CAPTURE_CONTENDED",
            f"other processes took captures for consumer {ask.consumer} in {_ROUNDS} rounds",
            "capture again, or with fewer processes at once",
        )

    def _attempt(self, ask: Ask) -> CaptureRecord:
        spots, open_captures = self._look(ask, self._open(ask.tables))
        tables = [spot.table for spot in spots]
        chosen = choose(ask, spots, open_captures)
        if isinstance(chosen, CaptureRecord):
            return self._resume(chosen, ask, tables)
        new = NewCapture(
            id=f"cap_{secrets.token_hex(10)}",
            consumer=ask.consumer,
            options=ask.options,
            start_from=ask.start_from,
            owner=ask.owner,
            run_ref=ask.run_ref,
            takes=chosen.takes,
            supersedes=chosen.supersedes,
        )
        segments = [taken for _, taken in new.takes]
        plans = plan_tables(tables, segments, new.options, new.consumer, new.id)
        return self._write(self._store.reserve(new), plans)

    def _open(self, names: Sequence[str]) -> list[SourceTable]:
        tables = [open_table(self._lake, name) for name in names]
        if len({table.uuid for table in tables}) < len(tables):
            raise UsageError(
                "TABLE_NAMED_TWICE",
                f"a table is named twice: {', '.join(str(table.name) for table in tables)}",
                "name each table once",
            )
        return tables

    def _look(self, ask: Ask, tables: Sequence[SourceTable]) -> tuple[list[Spot], list[CaptureRecord]]:
        found, open_captures = self._store.view(_of(ask, tables))
        spots = [Spot(_as_of_now(table, found), _position(ask, table, found)) for table in tables]
        if any(spot.table.uuid != table.uuid for spot, table in zip(spots, tables, strict=True)):
            raise MovedError
        wanted = {spot.position.id for spot in spots}
        touching = [x for x in open_captures if wanted & {source.position_id for source in x.sources}]
        return spots, touching

    def _resume(self, record: CaptureRecord, ask: Ask, tables: Sequence[SourceTable]) -> CaptureRecord:
        of_uuid = {table.uuid: table for table in tables}
        ordered = [of_uuid[source.table_uuid] for source in record.sources]
        if record.ready_at is None:
            record = self._finish(record, ordered)
        else:
            self._verify(record, ordered)
        more = tuple(x for x in ask.options.range_columns if x not in record.options.range_columns)
        return self._describe(record, ordered, more) if more else record

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
            plans = plan_tables(tables, _segments(record), record.options, record.consumer, _salt(record.id))
        except CalveError as error:
            # Nobody ever saw this capture, so another one can take its place.
            self._store.fail(record.id, error)
            raise MovedError from error
        return self._write(record, plans)

    def _describe(
        self, record: CaptureRecord, tables: Sequence[SourceTable], more: tuple[str, ...]
    ) -> CaptureRecord:
        """Tell the ranges of further columns. The tables of the capture stay as they are."""
        options = replace(record.options, range_columns=(*record.options.range_columns, *more))
        plans = plan_tables(tables, _segments(record), options, record.consumer, _salt(record.id))
        again = self._writer.write(plans)
        self._writer.drop(again)
        described = [
            replace(changes, ranges=new.ranges) for changes, new in zip(record.changes, again, strict=True)
        ]
        try:
            return self._store.describe_again(record.id, described, options)
        except ConflictError as ended:
            raise MovedError from ended

    def _write(self, record: CaptureRecord, plans: Sequence[ChangePlan]) -> CaptureRecord:
        """Write the tables and note them. Where another process did so first, its tables stand."""
        try:
            written = self._writer.write(plans)
        except Exception as error:
            if self._store.fail(record.id, error):
                raise
            raise MovedError from error
        try:
            stored = self._store.finish(record.id, written)
        except ConflictError as ended:
            self._writer.drop(written)
            raise MovedError from ended
        if _places(stored.changes) != _places(written):
            self._writer.drop(written)
        return stored


def _salt(capture_id: str) -> str:
    """What makes the names of this try its own: the process that began the capture may still be
    writing, and neither may remove what the other wrote."""
    return f"{capture_id}/{secrets.token_hex(4)}"


def _places(written: Sequence[Changes]) -> list[str | None]:
    return [changes.icdc_metadata_location for changes in written]


def _segments(record: CaptureRecord) -> list[tuple[Segment, ...]]:
    return [source.segments for source in record.sources]


def _of(ask: Ask, tables: Sequence[SourceTable]) -> ColumnElement[bool]:
    named = chains.c.table_name.in_([str(table.name) for table in tables])
    same = chains.c.table_uuid.in_([table.uuid for table in tables])
    return and_(chains.c.consumer == ask.consumer, chains.c.branch == ask.options.branch, or_(named, same))


def _as_of_now(table: SourceTable, found: Sequence[Position]) -> SourceTable:
    # The head must be younger than the position, or a capture that another process took in
    # between would look like a rollback.
    seen = any(position.known and position.table_uuid == table.uuid for position in found)
    return table.refresh() if seen else table


def _position(ask: Ask, table: SourceTable, found: Sequence[Position]) -> Position:
    stored = next((x for x in found if x.table_uuid == table.uuid), None)
    if stored is not None and stored.known:
        return stored
    name, branch = str(table.name), ask.options.branch
    other = next((x for x in found if x.known and x.table_name == name and x.table_uuid != table.uuid), None)
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
