"""Rows of the state to records of the ledger, and the reads that are used in several places."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, exists, literal_column, select

from calve.lake.lookback import Lookback
from calve.lake.model import Changes, Segment
from calve.ledger.asks import default_alias
from calve.ledger.chain import Chain
from calve.ledger.extents import extent_from_json
from calve.ledger.options import CaptureOptions
from calve.ledger.records import CaptureRecord, Position, SourceRecord, Status
from calve.state.schema import captures, chains, sources

# A literal rather than a parameter, or SQLite does not use the index on open captures.
IS_OPEN: ColumnElement[bool] = captures.c.status == literal_column("'open'")


def dump(value: Any) -> str:
    """JSON as the state keeps it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_positions(connection: Connection, *where: ColumnElement[bool], lock: bool = False) -> list[Position]:
    """Positions, forgotten ones too, by age. With `lock` nobody else may change them until the
    transaction ends; the order is the same everywhere, so that two never wait for each other."""
    query = select(chains).where(*where).order_by(chains.c.id)
    return [_position(row) for row in connection.execute(query.with_for_update() if lock else query)]


def read_captures(connection: Connection, *where: ColumnElement[bool]) -> list[CaptureRecord]:
    """Captures with their sources, by age."""
    found = connection.execute(
        select(captures).where(*where).order_by(captures.c.created_at, captures.c.id)
    ).all()
    of_capture = _read_sources(connection, [row.id for row in found])
    return [_capture(row, of_capture[row.id]) for row in found]


def read_capture(connection: Connection, capture_id: str) -> CaptureRecord | None:
    """One capture, or None."""
    found = read_captures(connection, captures.c.id == capture_id)
    return found[0] if found else None


def read_open(connection: Connection, position_ids: Iterable[int]) -> list[CaptureRecord]:
    """The open captures that have any of these positions among their sources, by age."""
    ids = list(position_ids)
    consumers = select(chains.c.consumer).where(chains.c.id.in_(ids))
    touching = exists().where(sources.c.capture_id == captures.c.id, sources.c.chain_id.in_(ids))
    return read_captures(connection, IS_OPEN, captures.c.consumer.in_(consumers), touching)


def segments_json(segments: Sequence[Segment]) -> str:
    """Stretches as the state keeps them."""
    return dump([[x.from_snapshot_exclusive, x.to_snapshot_inclusive] for x in segments])


def _read_sources(connection: Connection, capture_ids: Sequence[str]) -> dict[str, list[Row[Any]]]:
    grouped: dict[str, list[Row[Any]]] = defaultdict(list)
    query = select(sources).where(sources.c.capture_id.in_(capture_ids)).order_by(sources.c.ordinal)
    for row in connection.execute(query):
        grouped[row.capture_id].append(row)
    return grouped


def _position(row: Row[Any]) -> Position:
    return Position(
        id=row.id,
        version=row.version,
        consumer=row.consumer,
        table_uuid=row.table_uuid,
        branch=row.branch,
        table_name=row.table_name,
        known=row.known,
        chain=Chain.from_json(row.frontier, json.loads(row.links)),
        settled_at=row.settled_at,
        updated_at=row.updated_at,
    )


def _source(row: Row[Any], asked: Mapping[str, Any]) -> SourceRecord:
    return SourceRecord(
        position_id=row.chain_id,
        table_name=row.table_name,
        table_uuid=row.table_uuid,
        branch=row.branch,
        segments=tuple(Segment(start, end) for start, end in json.loads(row.segments)),
        changes=None if row.result is None else Changes.from_json(json.loads(row.result)),
        alias=asked["alias"],
        range_columns=tuple(asked["range_columns"]),
    )


def _asked(request: Mapping[str, Any], rows: Sequence[Row[Any]]) -> list[Mapping[str, Any]]:
    """What was asked of each source. Captures of a state from before there were aliases have none."""
    alike = {"range_columns": request["range_columns"]}
    return request.get("sources") or [{**alike, "alias": default_alias(row.table_name)} for row in rows]


def _capture(row: Row[Any], its_sources: Sequence[Row[Any]]) -> CaptureRecord:
    request = json.loads(row.request)
    asked = _asked(request, its_sources)
    return CaptureRecord(
        id=row.id,
        consumer=row.consumer,
        status=Status(row.status),
        options=CaptureOptions.from_json(request),
        start_from=request["start_from"],
        owner=row.owner,
        run_ref=row.run_ref,
        outcome=None if row.outcome is None else json.loads(row.outcome),
        keep=row.keep,
        created_at=row.created_at,
        ready_at=row.ready_at,
        committed_at=row.committed_at,
        released_at=row.released_at,
        failed_at=row.failed_at,
        dropped_at=row.dropped_at,
        expires_at=row.expires_at,
        lookback=tuple(map(Lookback.from_json, json.loads(row.lookback or "[]"))),
        sources=tuple(_source(x, own) for x, own in zip(its_sources, asked, strict=True)),
        extents=tuple(map(extent_from_json, request.get("extents", ()))),
    )
