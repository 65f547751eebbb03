"""The benchmark of the workflow engine. Prints its figures and keeps them; it never fails on a slow one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.engine import peers, step_types
from benchmarks.engine.commits import measure_commits
from benchmarks.engine.crowds import measure_finished, measure_queued
from benchmarks.engine.runs import measure_loops, measure_runs
from benchmarks.engine.scale import QUICK, Scale
from benchmarks.engine.service import measure_service
from benchmarks.engine.stores import POSTGRESQL, SQLITE, Store, open_store
from benchmarks.engine.table import compare, show
from benchmarks.report import Result, keep
from benchmarks.timing import machine

RESULTS = Path(__file__).parents[1] / "results" / "engine.json"
PARTS: dict[str, Callable[[Store, Scale], Iterator[Result]]] = {
    "raw": measure_commits,
    "runs": measure_runs,
    "peers": peers.measure_peers,
    "foreach": measure_loops,
    "queued": measure_queued,
    "finished": measure_finished,
    "dev": measure_service,
}
STORES = {"sqlite": SQLITE, "postgresql": POSTGRESQL}
#: What has one answer, whatever the database.
_ONCE = ("dev",)


def main() -> None:
    """Run all parts on both kinds of databases, or what is asked for."""
    arguments = _arguments()
    # Wide enough for its cases also where the output is kept in a file.
    console = Console(width=None if sys.stdout.isatty() else 180)
    before = machine()
    step_types.register()
    results: list[Result] = []
    for store in arguments.database or STORES:
        parts = [part for part in arguments.only or PARTS if store == "sqlite" or part not in _ONCE]
        for result in _measure(STORES[store], parts, QUICK if arguments.quick else Scale()):
            console.print(f"[dim]{result.part}: {result.case}: {result.measured:,.2f} {result.unit}[/]")
            results.append(result)
    results = compare(results)
    show(results, console)
    if arguments.output is not None:
        keep(results, before, arguments.output)


def _measure(store_name: str, parts: list[str], scale: Scale) -> Iterator[Result]:
    with (
        TemporaryDirectory(prefix="calve-bench-", ignore_cleanup_errors=True) as folder,
        open_store(store_name, Path(folder)) as store,
    ):
        for part in parts:
            yield from PARTS[part](store, scale)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--database", nargs="+", choices=STORES, metavar="KIND", help=", ".join(STORES))
    parser.add_argument("--quick", action="store_true", help="a few of everything; the figures are rough")
    parser.add_argument("--output", type=Path, help="where to keep the figures; all of them go to results/")
    arguments = parser.parse_args()
    if arguments.output is None and not (arguments.only or arguments.database or arguments.quick):
        arguments.output = RESULTS
    if "peers" in (arguments.only or PARTS) and not peers.PYTHON.exists():
        parser.error("the peers are not installed: run `make bench-engine`, or leave them out with --only")
    return arguments


if __name__ == "__main__":
    main()
