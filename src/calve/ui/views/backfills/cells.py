"""Chunks as cells: one each, or, of many, some in a row together. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil

from calve.backfill.records import Chunk
from calve.server.dependencies import Json
from calve.ui.addresses import run_address

CELLS_LIMIT = 240
_PLANNED = "PLANNED"
#: The status of chunks that share a cell is the first of these that any has; with its sign.
_SIGNS = {
    "FAILED": "!",
    "TIMED_OUT": "!",
    "STOPPED": "■",
    "IN_PROGRESS": "▸",
    "CREATED": "…",
    _PLANNED: "·",
    "SUCCEEDED": "✓",
}


def chunk_cells(chunks: Sequence[Chunk]) -> list[Json]:
    """At most so many cells, in the order of the chunks."""
    together = max(ceil(len(chunks) / CELLS_LIMIT), 1)
    return [_cell(chunks[at : at + together]) for at in range(0, len(chunks), together)]


def _cell(chunks: Sequence[Chunk]) -> Json:
    counts = Counter(chunk.status or _PLANNED for chunk in chunks)
    status = next((known for known in _SIGNS if counts[known]), _PLANNED)
    shown = next(chunk for chunk in chunks if (chunk.status or _PLANNED) == status)
    href = None if shown.instance_id is None else run_address(shown.workflow_id, shown.instance_id)
    return {
        "status": status,
        "sign": _SIGNS[status],
        "chunk": chunks[0].ordinal,
        "count": len(chunks),
        "from": chunks[0].lower,
        "to": chunks[-1].upper,
        "counts": dict(counts),
        "records": None if any(x.records is None for x in chunks) else sum(x.records or 0 for x in chunks),
        "round": max(chunk.round for chunk in chunks),
        "ms": _took(chunks),
        "href": href,
    }


def _took(chunks: Sequence[Chunk]) -> int | None:
    spans = [x.ended_at - x.started_at for x in chunks if x.ended_at and x.started_at]
    return sum(spans) if spans else None
