"""The benchmark of the pages and of the lists of the API: what the server takes for each, in a state with
much in it, beside a small one. Prints its figures and keeps them; it never fails on a slow one.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import FastAPI
from rich.console import Console

from benchmarks.engine.stores import POSTGRESQL, SQLITE, Store, open_store
from benchmarks.report import Result, Target, keep, show
from benchmarks.timing import machine
from benchmarks.ui.filling import fill
from benchmarks.ui.requests import LOOKS, Taken, all_paths, ask
from benchmarks.ui.scale import SMALL, Scale
from benchmarks.ui.shapes import flows
from calve.engine.orchestrator import Orchestrator
from calve.server.app import create_app
from calve.settings import load_settings
from calve.state.database import Database
from calve.ui.site import add_pages
from calve.ui.views.lineage.reading import read_all

_RESULTS = Path(__file__).parents[1] / "results" / "ui.json"
_STORES = {"sqlite": SQLITE, "postgresql": POSTGRESQL}
_TARGET = Target("<=", 100)


def main() -> None:
    """Fill both states, and ask for every list in both."""
    arguments = _arguments()
    before = machine()
    # Wide enough for its cases also where the output is kept in a file.
    console = Console(width=None if sys.stdout.isatty() else 140)
    scale = dataclasses.replace(Scale(), workflows=arguments.workflows, instances=arguments.instances)
    results: list[Result] = []
    for kind in arguments.database or list(_STORES):
        with _folder(arguments.keep) as folder, open_store(_STORES[kind], folder) as store:
            for result in _measure(store, scale, arguments, console):
                results.append(result)
                details = result.details
                console.print(
                    f"[dim]{result.case}: median {result.measured:.1f} ms, p95 {details['p95_ms']} ms, "
                    f"CPU {details['median_cpu_ms']} ms, "
                    f"{details['ratio']} times {SMALL}; {details['status']}[/]"
                )
    show(results, console, title="Pages and lists")
    if arguments.output is not None:
        keep(results, before, arguments.output)


def _measure(store: Store, scale: Scale, arguments: argparse.Namespace, console: Console) -> Iterator[Result]:
    with _opened(store, SMALL, console) as small, _opened(store, scale, console) as large:
        few, many = _places(SMALL), _places(scale)
        for name in all_paths(many):
            if arguments.only and not any(part in name for part in arguments.only):
                continue
            before = ask(small, all_paths(few)[name], arguments.looks)
            yield _result(store, scale, name, ask(large, all_paths(many)[name], arguments.looks), before)


def _result(store: Store, scale: Scale, name: str, taken: Taken, before: Taken) -> Result:
    details = {
        "path": taken.path,
        "status": taken.status,
        "bytes": taken.size,
        "first_ms": round(taken.first, 2),
        "p95_ms": round(taken.p95, 2),
        "median_cpu_ms": round(statistics.median(taken.cpu), 2),
        "small_median_ms": round(before.median, 2),
        "ratio": round(taken.median / before.median, 2),
        "runs": len(taken.others),
    }
    return Result(f"{store.name}: {scale}", name, taken.median, "ms", _TARGET, details)


def _places(scale: Scale) -> dict[str, object]:
    made = flows(scale)
    return {
        "often": made[0].workflow_id,
        "rare": made[-1].workflow_id,
        "middle": scale.instances // 2,
    }


@contextmanager
def _opened(store: Store, scale: Scale, console: Console) -> Iterator[FastAPI]:
    home = store.new_home()
    database = Database(store.new_url(home))
    start = time.perf_counter()
    fill(database, scale)
    console.print(f"[dim]filled with {scale} in {time.perf_counter() - start:.0f} s[/]")
    settings = load_settings(home).model_copy(update={"state_url": database.url})
    orchestrator = Orchestrator(settings, database)
    start = time.perf_counter()
    # A server reads it once, beside its pages, which do not wait for it.
    read_all(orchestrator)
    console.print(f"[dim]read the lineage of all workflows in {time.perf_counter() - start:.0f} s[/]")
    try:
        yield add_pages(create_app(orchestrator))
    finally:
        database.close()


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with TemporaryDirectory(prefix="calve-bench-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ui", description=__doc__)
    parser.add_argument("--workflows", type=int, default=Scale().workflows)
    parser.add_argument("--instances", type=int, default=Scale().instances)
    parser.add_argument("--database", nargs="+", choices=_STORES, metavar="KIND", help=", ".join(_STORES))
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="only lists in whose name a text occurs")
    parser.add_argument("--looks", type=int, default=LOOKS, help="how often each is asked for")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the states here")
    parser.add_argument("--output", type=Path, help="where to keep the figures; all of them go to results/")
    arguments = parser.parse_args()
    is_whole = arguments.workflows == Scale().workflows and arguments.instances == Scale().instances
    if arguments.output is None and is_whole and not arguments.only:
        arguments.output = _RESULTS
    return arguments


if __name__ == "__main__":
    main()
