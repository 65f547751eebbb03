"""How the workflow of a stage gets what it has to process, and in which chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from calve.backfill.chunking import cut, files_per_chunk, join
from calve.backfill.plan import ChunkPlan, Feeding, SourcePlan
from calve.backfill.planning.choosing import Chosen
from calve.backfill.planning.columns import WantedRange, column_of, require_column
from calve.errors import UsageError
from calve.lake import Lake, SourceTable, open_table
from calve.lake.amounts import Amount
from calve.lake.live_amounts import measure_ranges
from calve.lake.model import RangeColumn

_REMOVING = frozenset({"overwrite", "delete"})


Captured = tuple[SourceTable, tuple[str, ...]]


def captured_tables(lake: Lake, chosen: Chosen) -> list[Captured]:
    """The tables that the workflow captures, each once, with the consumers that do.

    Raises CONSUMER_UNKNOWN where that is known only when the workflow runs.
    """
    found: dict[str, Captured] = {}
    for capture in chosen.captures:
        if capture.consumer is None:
            raise UsageError(
                "CONSUMER_UNKNOWN",
                f"the consumer of '{capture.step_id}' in '{chosen.workflow_id}' depends on params",
                "give the capture step a fixed consumer",
            )
        for source in capture.sources:
            table, others = found.get(source.table) or (open_table(lake, source.table), ())
            found[source.table] = (table, tuple(dict.fromkeys((*others, capture.consumer))))
    return list(found.values())


def takes_removals(chosen: Chosen, changed: Iterable[str]) -> bool:
    """Whether the workflow's captures of these tables see overwrites and deletes."""
    wanted = set(changed)
    uses = [x for x in chosen.captures if any(source.table in wanted for source in x.sources)]
    return bool(uses) and all(set(use.operations) >= _REMOVING for use in uses)


def plan_sources(
    captured: Sequence[Captured], column: str | None, *, required: frozenset[str]
) -> tuple[SourcePlan, ...]:
    """Which column of each captured table the range is of. `required` must have one; others may have none,
    and then nothing of them belongs to the range."""
    planned = []
    for table, consumers in captured:
        name = str(table.name)
        found = require_column(table, column) if name in required else _column_if_any(table, column)
        planned.append(SourcePlan(name, table.uuid, None if found is None else found.name, consumers))
    return tuple(planned)


def _column_if_any(table: SourceTable, column: str | None) -> RangeColumn | None:
    try:
        return column_of(table, column)
    except UsageError:
        return None


def plan_chunks(
    captured: Sequence[Captured],
    sources: Sequence[SourcePlan],
    wanted: WantedRange,
    chunk: str,
) -> tuple[ChunkPlan, ...]:
    """The chunks of a range, with what each reads of all the sources together, from metadata alone."""
    pairs = cut(wanted.lower, wanted.upper, chunk, wanted.kind)
    totals = [Amount() for _ in pairs]
    for (table, _), source in zip(captured, sources, strict=True):
        if source.column is not None:
            for at, amount in enumerate(measure_ranges(table, None, source.column, pairs)):
                totals[at] += amount
    chunks = [_measured(pair, amount) for pair, amount in zip(pairs, totals, strict=True)]
    files = files_per_chunk(chunk)
    return tuple(chunks if files is None else join(chunks, files))


def unmeasured(wanted: WantedRange, chunk: str) -> tuple[ChunkPlan, ...]:
    """The chunks of a range of which only the workflow knows what it reads."""
    return tuple(
        ChunkPlan(lower, upper) for lower, upper in cut(wanted.lower, wanted.upper, chunk, wanted.kind)
    )


def feeding_of(chosen: Chosen, changed: frozenset[str] | None) -> Feeding:
    """How a workflow is fed; `changed` are the tables of earlier stages that it reads, None for the first."""
    if not chosen.captures:
        return Feeding.PARAMS
    if changed and takes_removals(chosen, changed):
        return Feeding.NET
    return Feeding.RANGE


def _measured(pair: tuple[Any, Any], amount: Amount) -> ChunkPlan:
    return ChunkPlan(pair[0], pair[1], amount.files, amount.records, amount.bytes)
