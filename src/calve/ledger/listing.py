"""Captures in short, the newest first: what lists and pictures need of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, exists, select, tuple_, union_all

from calve.lake.model import Segment
from calve.ledger.records import Position
from calve.state.schema import captures, sources

_ENDS = ("committed_at", "released_at", "failed_at")


@dataclass(frozen=True, slots=True)
class CaptureHead:
    """A capture without what it shows. `segments` are those of each position that was asked for."""

    id: str
    consumer: str
    status: str
    run_ref: str | None
    created_at: int
    ended_at: int | None
    segments: dict[int, tuple[Segment, ...]]


def newest_captures(
    connection: Connection,
    positions: Sequence[Position],
    limit: int,
    before: tuple[int, str] | None = None,
) -> list[CaptureHead]:
    """The newest captures at some positions, at most so many for each; `before` is (created_at, id) of one.

    Costs as much as there are to be given, not as there ever were.
    """
    if not positions:
        return []
    chosen = union_all(*(_newest(position, limit, before) for position in positions)).subquery()
    rows = connection.execute(
        select(captures)
        .where(captures.c.id.in_(select(chosen.c.id)))
        .order_by(captures.c.created_at.desc(), captures.c.id.desc())
    ).all()
    held = _segments(connection, [row.id for row in rows], [x.id for x in positions if x.id is not None])
    return [_head(row, held.get(row.id, {})) for row in rows]


def _newest(position: Position, limit: int, before: tuple[int, str] | None) -> Select[Any]:
    touching = exists().where(sources.c.capture_id == captures.c.id, sources.c.chain_id == position.id)
    query = (
        select(captures.c.id)
        .where(captures.c.consumer == position.consumer, touching)
        .order_by(captures.c.created_at.desc(), captures.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(tuple_(captures.c.created_at, captures.c.id) < tuple_(*before))
    return select(query.subquery())


def _segments(
    connection: Connection, capture_ids: Sequence[str], position_ids: Sequence[int]
) -> dict[str, dict[int, tuple[Segment, ...]]]:
    found: dict[str, dict[int, tuple[Segment, ...]]] = {}
    query = select(sources.c.capture_id, sources.c.chain_id, sources.c.segments).where(
        sources.c.capture_id.in_(capture_ids), sources.c.chain_id.in_(position_ids)
    )
    for row in connection.execute(query):
        segments = tuple(Segment(start, end) for start, end in json.loads(row.segments))
        found.setdefault(row.capture_id, {})[row.chain_id] = segments
    return found


def _head(row: Row[Any], segments: dict[int, tuple[Segment, ...]]) -> CaptureHead:
    ended = next((at for name in _ENDS if (at := row._mapping[name]) is not None), None)
    return CaptureHead(row.id, row.consumer, row.status, row.run_ref, row.created_at, ended, segments)
