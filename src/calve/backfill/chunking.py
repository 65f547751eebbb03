"""A range cut into chunks. Pure: bounds are values as ranges show them, whatever table they are of."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from calve.backfill.plan import ChunkPlan
from calve.errors import UsageError

DAY = "day"
HOUR = "hour"
WHOLE = "whole"
_FILES = re.compile(r"(\d+)\s*files?")
MOST_CHUNKS = 10_000
_LENGTHS = {DAY: timedelta(days=1), HOUR: timedelta(hours=1)}
Pair = tuple[Any, Any]


def files_per_chunk(chunk: str) -> int | None:
    """The number of `<n>files`; None for other ways to cut. Raises CHUNK_INVALID for what is none of them."""
    found = _FILES.fullmatch(chunk)
    if found and int(found[1]) > 0:
        return int(found[1])
    if chunk in (DAY, HOUR, WHOLE):
        return None
    raise UsageError(
        "CHUNK_INVALID",
        f"found the chunk '{chunk}'",
        "use day, hour, whole, or files as in 200files",
    )


def cut(lower: Any, upper: Any, chunk: str, column_type: str) -> list[Pair]:
    """The pieces of [lower, upper), oldest first. `<n>files` is cut into days, to be joined by `join`."""
    unit = DAY if files_per_chunk(chunk) is not None else chunk
    if unit == WHOLE:
        return [(lower, upper)]
    _refuse_unit(column_type, unit)
    edges = _edges(moment_of(lower, column_type), moment_of(upper, column_type), _LENGTHS[unit])
    shown = [value_at(edge, column_type) for edge in edges]
    return list(itertools.pairwise(shown))


def _edges(start: datetime, end: datetime, length: timedelta) -> list[datetime]:
    """The start, the whole units in between, and the end: a ragged edge makes a smaller chunk."""
    first = datetime(start.year, start.month, start.day, tzinfo=UTC)
    steps = (start - first) // length + 1
    edges = [start]
    while (edge := first + steps * length) < end:
        edges.append(edge)
        steps += 1
        if len(edges) > MOST_CHUNKS:
            raise UsageError(
                "CHUNKS_TOO_MANY",
                f"the range from {start.isoformat()} to {end.isoformat()} has more than {MOST_CHUNKS} chunks",
                "make the range smaller, or the chunks bigger",
            )
    return [*edges, end]


def join(chunks: Sequence[ChunkPlan], files: int) -> list[ChunkPlan]:
    """Neighbours put together until each has about so many files."""
    joined: list[ChunkPlan] = []
    for chunk in chunks:
        last = joined[-1] if joined else None
        if last is not None and (last.files or 0) + (chunk.files or 0) <= files:
            joined[-1] = _together(last, chunk)
        else:
            joined.append(chunk)
    return joined


def _together(left: ChunkPlan, right: ChunkPlan) -> ChunkPlan:
    def total(one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else one + other

    return ChunkPlan(
        left.lower,
        right.upper,
        total(left.files, right.files),
        total(left.records, right.records),
        total(left.bytes, right.bytes),
    )


def is_time(column_type: str) -> bool:
    """Whether values of the type are days or moments, or days written as numbers."""
    return column_type in ("date", "day_number") or column_type.startswith("timestamp")


def moment_of(value: Any, column_type: str) -> datetime:
    """The moment at which a value begins."""
    if column_type == "day_number":
        return datetime.strptime(str(value), "%Y%m%d").replace(tzinfo=UTC)
    if column_type == "date":
        return datetime.combine(date.fromisoformat(value), datetime.min.time(), UTC)
    # Python keeps microseconds; chunks are cut at whole hours, so nothing is lost below that.
    found = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value))
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def value_at(moment: datetime, column_type: str) -> Any:
    """A moment as a value of the column."""
    if column_type == "day_number":
        return int(moment.strftime("%Y%m%d"))
    if column_type == "date":
        return moment.date().isoformat()
    text = moment.replace(tzinfo=None).isoformat(timespec="microseconds")
    return text + ("+00:00" if column_type.startswith("timestamptz") else "")


def widen(lower: Any, upper: Any, chunk: str, column_type: str) -> Pair:
    """The smallest range of whole chunks with both values in it; its upper bound, exclusive, may be None."""
    if not is_time(column_type):
        return lower, None
    unit = HOUR if chunk == HOUR else DAY
    first, last = (_start(moment_of(value, column_type), unit) for value in (lower, upper))
    return value_at(first, column_type), value_at(last + _LENGTHS[unit], column_type)


def _start(moment: datetime, unit: str) -> datetime:
    hour = moment.hour if unit == HOUR else 0
    return datetime(moment.year, moment.month, moment.day, hour, tzinfo=UTC)


def _refuse_unit(column_type: str, unit: str) -> None:
    if not is_time(column_type) or (unit == HOUR and not column_type.startswith("timestamp")):
        raise UsageError(
            "CHUNK_UNSUPPORTED",
            f"a column of type {column_type} cannot be cut by {unit}",
            "use --chunk whole" if not is_time(column_type) else "use --chunk day",
        )
