"""The benchmark of backfills: a few days beside all of them, plans for many files, and what a chunk costs.

Prints its figures and keeps them; it never fails on a slow one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from benchmarks.backfill.chunks import chunk_overhead, idle_chunks
from benchmarks.backfill.days import Sizes, few_days, fill
from benchmarks.backfill.planning import planning
from benchmarks.backfill.site import open_site
from benchmarks.report import Result, keep, show
from benchmarks.timing import machine

_RESULTS = Path(__file__).parents[1] / "results" / "backfill.json"


def main() -> None:
    """Run all parts, or those that are named."""
    arguments = _arguments()
    before = machine()
    # Wide enough for its cases also where the output is kept in a file.
    console = Console(width=None if sys.stdout.isatty() else 140)
    results: list[Result] = []
    for name in arguments.parts or _PARTS:
        for result in _PARTS[name](arguments):
            console.print(f"[dim]{result.part}: {result.case}: {result.measured:,.2f} {result.unit}[/]")
            results.append(result)
    show(results, console, title="Backfill")
    keep(results, before, arguments.output)


def _plan(arguments: argparse.Namespace) -> Iterator[Result]:
    with _home() as home, open_site(home) as site:
        yield from planning(site, arguments.files)


def _idle(arguments: argparse.Namespace) -> Iterator[Result]:
    with _home() as home, open_site(home) as site:
        yield from idle_chunks(site)


def _days(arguments: argparse.Namespace) -> Iterator[Result]:
    sizes = Sizes(arguments.days, arguments.few, arguments.rows, arguments.repeats)
    with _home() as home, open_site(home) as site:
        fill(site, sizes)
        yield from few_days(site, sizes)


def _chunks(arguments: argparse.Namespace) -> Iterator[Result]:
    sizes = Sizes(arguments.chunks, 1, arguments.tiny_rows)
    with _home() as home, open_site(home) as site:
        fill(site, sizes)
        yield from chunk_overhead(site, arguments.chunks)


_PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Result]]] = {
    "plan": _plan,
    "idle": _idle,
    "chunks": _chunks,
    "days": _days,
}


@contextmanager
def _home() -> Iterator[Path]:
    """A home that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="calve-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(_PARTS)}; all without")
    parser.add_argument("--rows", type=int, default=40_000, help="source rows a day (%(default)s)")
    parser.add_argument("--days", type=int, default=60, help="days of the source (%(default)s)")
    parser.add_argument("--few", type=int, default=3, help="days that are backfilled (%(default)s)")
    parser.add_argument(
        "--repeats", type=int, default=2, help="of the few days, before and after all (%(default)s)"
    )
    parser.add_argument("--chunks", type=int, default=30, help="tiny days, a chunk each (%(default)s)")
    parser.add_argument("--tiny-rows", type=int, default=1_000, help="rows of a tiny day (%(default)s)")
    parser.add_argument("--files", type=int, default=100_000, help="files to plan for (%(default)s)")
    parser.add_argument("--output", type=Path, default=_RESULTS)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - _PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return arguments


if __name__ == "__main__":
    main()
