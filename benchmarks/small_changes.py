"""A change of 10 files: its cost must not follow the size of the table or of its history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.lakes import Bench
from benchmarks.report import Result, Target
from benchmarks.tables import Group, TableBuilder
from benchmarks.timing import WARM_UPS, Timing, measure
from calve.lake import Mode
from calve.ledger.ledger import Ledger

SIZES = (1_000, 100_000, 1_000_000)
CHANGED = 10
_COMMITS = 20
_LIMIT_MS = 100.0
_GROWTH = 2.0
_SNAPSHOTS = 10_000
_HISTORY_LIMIT_MS = 300.0


@dataclass(frozen=True)
class _Case:
    """A table and the bounds of its changes of 10 files."""

    name: str
    base: int
    overwritten: int
    spread: int
    appended: int


def small_changes(bench: Bench) -> Iterator[Result]:
    """The same change on tables of growing size."""
    cases = {size: _build(bench, size) for size in SIZES}
    with Ledger(bench.settings, bench.lake) as ledger:
        measures: dict[str, Callable[[_Case, int], Any]] = {
            "append": lambda c, _: bench.capture(c.name, Mode.APPEND, c.spread, c.appended),
            "net": lambda c, _: bench.capture(c.name, Mode.NET, c.spread, c.appended),
            "append, with a range": lambda c, _: bench.capture(
                c.name, Mode.APPEND, c.spread, c.appended, range_columns=("at",)
            ),
            "append, in 10 partitions": lambda c, _: bench.capture(
                c.name, Mode.APPEND, c.overwritten, c.spread
            ),
            "append, by the ledger": lambda c, n: ledger.capture(
                c.name, consumer=f"{c.name}-{n + WARM_UPS}", start_from=c.spread
            ),
            "net, copy-on-write": lambda c, _: bench.capture(c.name, Mode.NET, c.base, c.overwritten),
        }
        for label, run in measures.items():
            times = {size: measure(partial(run, case)) for size, case in cases.items()}
            yield from _results(label, times)


def _results(label: str, times: dict[int, Timing]) -> Iterator[Result]:
    for size, timing in times.items():
        target = Target("<", _LIMIT_MS) if size == 100_000 else None
        case = f"{label}: {size:,} live files"
        yield Result("10 files", case, timing.median * 1000, "ms", target, timing.to_json())
    growth = times[SIZES[-1]].median / times[SIZES[0]].median
    yield Result("10 files", f"{label}: growth from first to last", growth, "x", Target("<", _GROWTH))


def _build(bench: Bench, size: int) -> _Case:
    table = TableBuilder(bench.lake, f"live_{size}", files_per_day=max(size // 365, 10))
    for _ in range(_COMMITS):
        base = table.append(size // _COMMITS)
    # Files of one day are replaced: their manifest is written anew, with all of its other files.
    replaced = table.batches[_COMMITS // 2]
    removed = frozenset(replaced.files[:CHANGED])
    overwritten = table.commit([Group(table.take(CHANGED)), Group(range(0), (replaced,), removed)])
    numbers = table.take(CHANGED * table.files_per_day)
    spread = table.commit([Group(numbers[:: table.files_per_day])])
    appended = table.append(CHANGED)
    table.register()
    return _Case(f"lake.bench.{table.name}", base, overwritten, spread, appended)


def _capture(bench: Bench, name: str, mode: Mode, start: int, end: int, _: int) -> None:
    bench.capture(name, mode, start, end)


def long_history(bench: Bench) -> Iterator[Result]:
    """The same change on a table that keeps many snapshots."""
    table = TableBuilder(bench.lake, "history")
    table.pretend(_SNAPSHOTS // 2)
    middle = table.append(CHANGED)
    table.pretend(_SNAPSHOTS // 2 - 3)
    before = table.append(CHANGED)
    after = table.append(CHANGED)
    table.register()
    name = f"lake.bench.{table.name}"
    for label, start in (("the last commit", before), ("half of the history", middle)):
        for mode in (Mode.APPEND, Mode.NET):
            timing = measure(partial(_capture, bench, name, mode, start, after))
            case = f"{mode}, {label} of {_SNAPSHOTS:,} snapshots"
            limit = Target("<", _HISTORY_LIMIT_MS)
            yield Result("long history", case, timing.median * 1000, "ms", limit, timing.to_json())
