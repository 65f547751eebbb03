"""The benchmark of change capture. Prints its figures and keeps them; it never fails on a slow one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from benchmarks.big_changes import big_changes
from benchmarks.lakes import Bench, temporary_lake
from benchmarks.report import Result, keep, show
from benchmarks.side_by_side import side_by_side
from benchmarks.small_changes import long_history, small_changes
from benchmarks.timing import machine

RESULTS = Path(__file__).parent / "results" / "capture.json"
PARTS: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "small": small_changes,
    "history": long_history,
    "big": big_changes,
    "spark": side_by_side,
}


def main() -> None:
    """Run all parts, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; all without")
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - PARTS.keys()
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    # Wide enough for its cases also where the output is kept in a file.
    console = Console(width=None if sys.stdout.isatty() else 140)
    before = machine()
    results: list[Result] = []
    for name in arguments.parts or PARTS:
        with temporary_lake() as bench:
            for result in PARTS[name](bench):
                console.print(f"[dim]{result.part}: {result.case}: {result.measured:,.1f} {result.unit}[/]")
                results.append(result)
    show(results, console, title="Capture")
    keep(results, before, arguments.output)


if __name__ == "__main__":
    main()
