"""Changes of many files: how many a second, and how much memory each one takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.lakes import Bench
from benchmarks.report import Result, Target
from benchmarks.tables import MANIFEST_ENTRIES, Group, TableBuilder
from benchmarks.timing import measure
from calve.lake import Mode

SIZES = (10_000, 100_000)
_REUSED = Target(">=", 100_000)
_REWRITTEN = Target(">=", 20_000)
_MEMORY = Target("<", 1024)
_BASE = 1_000
_REPEATS = 5


@dataclass(frozen=True)
class _Change:
    """A change of some size, and a small one on the same table."""

    label: str
    table: str
    files: int
    small: tuple[int, int]
    big: tuple[int, int]
    target: Target


def big_changes(bench: Bench) -> Iterator[Result]:
    """Files a second, and then bytes a file."""
    changes = [change for size in SIZES for change in _build_all(bench, size)]
    for change in changes:
        yield from _speed(bench, change)
    for change in changes:
        if change.files == SIZES[-1]:
            yield _memory(bench, change)


def _speed(bench: Bench, change: _Change) -> Iterator[Result]:
    for mode, columns in ((Mode.APPEND, ()), (Mode.NET, ()), (Mode.NET, ("at",))):
        timing = measure(partial(_capture, bench, change, mode, columns), repeats=_REPEATS, warm_ups=1)
        ranged = ", with a range" if columns else ""
        # A range is in the entries: reusing a manifest does not save reading it.
        target = None if columns else change.target
        case = f"{change.label}, {mode}{ranged}: {change.files:,} files"
        rate = change.files / timing.median
        per_cpu = round(change.files / timing.cpu_median)
        details = {**timing.to_json(), "files_per_cpu_second": per_cpu}
        yield Result("many files", case, rate, "files/s", target, details)


def _capture(bench: Bench, change: _Change, mode: Mode, columns: tuple[str, ...], _: int) -> None:
    done = bench.capture(change.table, mode, *change.big, range_columns=columns)
    if done.files != change.files:
        raise ValueError(f"{done.files} files instead of {change.files}")


def _memory(bench: Bench, change: _Change) -> Result:
    small, big = (_peak_bytes(bench, change.table, bounds) for bounds in (change.small, change.big))
    per_file = (big - small) / change.files
    details = {"peak_mb_small": round(small / 2**20, 1), "peak_mb_big": round(big / 2**20, 1)}
    case = f"{change.label}, net, with a range: {change.files:,} files"
    return Result("peak memory", case, per_file, "bytes/file", _MEMORY, details)


def _peak_bytes(bench: Bench, table: str, bounds: tuple[int, int]) -> int:
    arguments = [str(bench.settings.home), table, *map(str, bounds)]
    command = [sys.executable, "-m", "benchmarks.peak_memory", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(json.loads(done.stdout)["peak_bytes"])


def _build_all(bench: Bench, size: int) -> Iterator[_Change]:
    yield _reused(bench, size, "manifests reused", per_day=size)
    yield _reused(bench, size, "manifests reused, of many days", per_day=100)
    yield _reused(bench, size, "manifests reused, of scattered days", per_day=100, every=2)
    for version in (2, 3):
        yield _rewritten(bench, size, 0.1, version)
    yield _rewritten(bench, size, 0.5, 2)


def _reused(bench: Bench, size: int, label: str, per_day: int, every: int = 1) -> _Change:
    """Manifests that only add files. Where days are left out, only the entries show which ones are there."""
    table = TableBuilder(
        bench.lake, f"reused_{size}_{per_day}_{every}", files_per_day=per_day, every_nth_day=every
    )
    before = table.append(_BASE)
    table.take(-table.next_file % per_day)
    small = table.append(10)
    table.take(-table.next_file % per_day)
    for _ in range(5):
        after = table.append(size // 5)
    table.register()
    return _Change(label, f"lake.bench.{table.name}", size, (before, small), (small, after), _REUSED)


def _rewritten(bench: Bench, size: int, existing: float, version: int) -> _Change:
    """Merged manifests: each holds old files besides the new ones."""
    table = TableBuilder(
        bench.lake, f"rewritten_{size}_{version}_{existing * 100:.0f}", format_version=version
    )
    old = int(size * existing / (1 - existing))
    groups = -(-(size + old) // MANIFEST_ENTRIES)
    before = table.append(old, per_manifest=-(-old // groups))
    small = table.append(10)
    merged = table.batches[:groups]
    share = size // len(merged)
    counts = [share] * (len(merged) - 1) + [size - share * (len(merged) - 1)]
    after = table.commit(
        [Group(table.take(count), (batch,)) for count, batch in zip(counts, merged, strict=True)]
    )
    table.register()
    label = f"entries rewritten, {existing:.0%} old, v{version}"
    return _Change(label, f"lake.bench.{table.name}", size, (before, small), (small, after), _REWRITTEN)
