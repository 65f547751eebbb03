"""What a chunk costs besides its work: the same work in one chunk and in many."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pyarrow as pa

from benchmarks.backfill.cost import Cost
from benchmarks.backfill.days import DAILY, day
from benchmarks.backfill.site import Site
from benchmarks.report import Result

_PART = "overhead a chunk"
#: Chunks that do nothing: enough of them that what a backfill costs once does not count.
_IDLE = 300
_TARGET = "bench.idle"
_WORKFLOW = "idle"


def chunk_overhead(site: Site, days: int) -> Iterator[Result]:
    """The same days of the first stage in one chunk, and in one a day; the JVM is warm."""
    options: dict[str, Any] = {"downstream": ["none"]}
    for chunk in ("whole", "day"):
        site.backfill(DAILY, day(0), day(min(days, 4)), chunk=chunk, **options)
    yield from _difference(
        f"{days} days of the first stage, one chunk a day",
        site.backfill(DAILY, day(0), day(days), chunk="whole", **options),
        site.backfill(DAILY, day(0), day(days), **options),
    )


def idle_chunks(site: Site) -> Iterator[Result]:
    """Chunks of one NoOp step: what the engine and the backfill take by themselves."""
    lake = site.backfills.ledger.lake.catalog("lake")
    lake.create_namespace_if_not_exists("bench")
    if not lake.table_exists(_TARGET):
        lake.create_table(_TARGET, pa.schema([("day", pa.date32())]))
    job = {"job": {"id": "nothing", "type": "NoOp", "writes": [_TARGET]}}
    site.push({"id": _WORKFLOW, "owner": "bench", "RUN_DATE": "", "jobs": [job]})
    one = site.backfill(_WORKFLOW, "2025-01-01", "2025-01-02", on_branch=False)
    many = site.backfill(_WORKFLOW, "2025-01-01", _after(_IDLE), on_branch=False)
    yield from _difference("NoOp steps, written directly", one, many)


def _after(days: int) -> str:
    return (date(2025, 1, 1) + timedelta(days=days)).isoformat()


def _difference(case: str, one: Cost, many: Cost) -> Iterator[Result]:
    further = many.chunks - one.chunks
    for name, few, all_ in (
        ("wall time", one.wall_seconds, many.wall_seconds),
        ("CPU of all processes", one.cpu_seconds, many.cpu_seconds),
        ("task CPU", one.task_cpu_seconds, many.task_cpu_seconds),
    ):
        details = {"one_chunk": one.to_json(), "many_chunks": many.to_json()} if name == "wall time" else {}
        yield Result(_PART, f"{name}: {case}", (all_ - few) / further * 1000, "ms a chunk", None, details)
