"""Which parts of a range have changed in what a stage downstream reads."""

from __future__ import annotations

from typing import Any

from calve.backfill.chunking import WHOLE, cut, files_per_chunk, join, widen
from calve.backfill.plan import ChunkPlan, Feeding
from calve.backfill.planning.columns import WantedRange, column_of
from calve.backfill.stages.inputs import Stretch, changed_inputs
from calve.backfill.stages.work import Work
from calve.lake import (
    ChangeRequest,
    Changes,
    Mode,
    Segment,
    SourceTable,
    drop_changes,
    open_table,
    plan_changes,
    write_changes,
)
from calve.lake.live_amounts import measure_ranges


def changed_chunks(work: Work) -> list[ChunkPlan]:
    """The chunks of a stage downstream: the pieces of the range in which what it reads has changed."""
    plan, published = work.stage.plan, changed_inputs(work)
    if not published:
        return []
    if plan.feeding is Feeding.NET:
        return [ChunkPlan(work.backfill.plan.lower, work.backfill.plan.upper)]
    if plan.feeding is Feeding.PARAMS:
        return list(plan.chunks)
    found: dict[Any, ChunkPlan] = {}
    for source in plan.sources:
        if source.table in published and source.column is not None:
            table = open_table(work.ledger.lake, source.table)
            for chunk in _touched(work, table, source.column, published[source.table]):
                found.setdefault(chunk.lower, chunk)
    return [found[lower] for lower in sorted(found)]


def _touched(work: Work, table: SourceTable, column: str, stretch: Stretch) -> list[ChunkPlan]:
    """Pieces of the column's values in which rows came or went."""
    changes = _difference(work, table, column, stretch)
    range_ = changes.ranges[column]
    found = column_of(table, column)
    if not changes.has_changes or found is None or range_.lower is None:
        return []
    chunk, kind = work.backfill.plan.chunk, WantedRange(found, range_.lower, range_.upper).kind
    pairs = cut(*widen(range_.lower, range_.upper, chunk, kind), chunk, kind)
    days = None if chunk == WHOLE else _days(changes, column)
    kept = [pair for pair in pairs if days is None or str(pair[0])[:10] in days]
    amounts = measure_ranges(table, stretch[1], column, kept)
    chunks = [
        ChunkPlan(lower, upper, amount.files, amount.records, amount.bytes)
        for (lower, upper), amount in zip(kept, amounts, strict=True)
    ]
    files = files_per_chunk(chunk)
    return chunks if files is None else join(chunks, files)


def _difference(work: Work, table: SourceTable, column: str, stretch: Stretch) -> Changes:
    request = ChangeRequest(
        mode=Mode.NET,
        segments=(Segment(*stretch),),
        range_columns=(column,),
        salt=f"backfill-{work.backfill.id}/{work.stage.ordinal}/look",
        backward_allowed=True,
    )
    changes = write_changes(plan_changes(table, request), work.ledger.settings.icdc)
    drop_changes(work.ledger.lake, changes)
    return changes


def _days(changes: Changes, column: str) -> set[str] | None:
    """The days of the partitions that changed; None where the table is not partitioned by days."""
    names = (column, f"{column}_day")
    days: set[str] = set()
    for partition in changes.partitions:
        values = [partition[name] for name in names if partition.get(name) is not None]
        if not values:
            return None
        days.add(str(values[0])[:10])
    return days or None
