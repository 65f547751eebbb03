"""The benchmark of the playback pipeline: both pairs over warm daily cycles, and what each trick brings."""

from __future__ import annotations

import argparse
import sys
import time
from itertools import chain
from pathlib import Path

from rich.console import Console

from benchmarks.playback.captures import compare_captures
from benchmarks.playback.chart import draw
from benchmarks.playback.cycles import Cycle, Pairs
from benchmarks.playback.figures import Results
from benchmarks.playback.site import WINDOW, Site, open_site
from benchmarks.playback.tricks import Tried, try_ways, tuned_lookback
from benchmarks.timing import machine

_RESULTS = Path(__file__).parents[1] / "results" / "playback.json"
_FOLDER = Path(".bench")
#: The rows that arrive on the 15 days of the last lookback and the day before it.
_ROWS, _ROW_DAYS = 20_250_000, 15


def main() -> None:
    """Measure, print, keep."""
    arguments = _arguments()
    started, before = time.perf_counter(), machine()
    rows_per_day = arguments.rows // _ROW_DAYS
    days = WINDOW + arguments.cycles
    with open_site(arguments.folder, rows_per_day, days) as site:
        made = time.perf_counter() - started
        cycles, tried = _run(site, arguments)
        found = list(compare_captures(site, days - 1)) if not arguments.quick else []
    settings = {
        "rows_in_15_days": rows_per_day * _ROW_DAYS,
        "rows_per_day": rows_per_day,
        "days": days,
        "window_days": WINDOW,
        "seconds_to_prepare": round(made, 1),
        "seconds_in_all": round(time.perf_counter() - started, 1),
    }
    results = Results(before, settings, cycles, tried, found)
    # Wide enough also where the output is kept in a file.
    results.show(Console(width=None if sys.stdout.isatty() else 160))
    results.keep(arguments.output)
    arguments.output.with_suffix(".svg").write_text(draw(results), encoding="utf-8")


def _run(site: Site, arguments: argparse.Namespace) -> tuple[list[Cycle], list[Tried]]:
    site.create_targets()
    site.arrive(WINDOW - 1)
    pairs = Pairs(site)
    # The first cycle fills the tables and warms the JVM up.
    pairs.lookback(WINDOW - 1)
    pairs.incremental()
    _say("tables filled")
    cycles = []
    for number in range(arguments.cycles):
        cycles.append(pairs.cycle(WINDOW + number))
        _say(f"cycle {number + 1} of {arguments.cycles}: {_shares(cycles[-1])}")
    last = WINDOW + arguments.cycles - 1
    tried: list[Tried] = []
    if not arguments.quick:
        lookbacks = tuned_lookback(site, last) if arguments.lookback_ways else ()
        for found in chain(try_ways(site, last, cycles[-1]), lookbacks):
            tried.append(found)
            _say(f"stage {found.stage}: {found.name}: {found.cost.task_cpu_seconds:.1f} s of task CPU")
    return cycles, tried


def _shares(cycle: Cycle) -> str:
    shares = [
        f"stage {number} {new.cost.task_cpu_seconds / old.cost.task_cpu_seconds:.1%} "
        f"({' + '.join(f'{cost.task_cpu_seconds:.2f} s' for cost in new.parts.values())}"
        f" of {old.cost.task_cpu_seconds:.1f} s)"
        for number, (old, new) in enumerate(zip(cycle.lookback, cycle.incremental, strict=True), start=1)
    ]
    equal = all(found.is_equal for found in cycle.equal)
    return f"{', '.join(shares)}; results {'equal' if equal else 'NOT EQUAL'}"


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=_ROWS, help="source rows in 15 days (%(default)s)")
    parser.add_argument("--cycles", type=int, default=3, help="warm daily cycles to measure (%(default)s)")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where the lake is kept (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="only the two pairs")
    parser.add_argument(
        "--lookback-ways", action="store_true", help="also give the lookback pair the tricks that it can use"
    )
    parser.add_argument("--output", type=Path, default=_RESULTS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
