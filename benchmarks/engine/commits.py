"""The raw rates of the databases, as figures of their own."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.engine.scale import Scale
from benchmarks.engine.stores import POSTGRESQL, Store
from benchmarks.report import Result


def measure_commits(store: Store, scale: Scale) -> Iterator[Result]:
    """One UPDATE, one INSERT, one COMMIT, again and again."""
    details = {"who": "raw", "settings": store.settings()}
    for writers in (1, 4) if store.name == POSTGRESQL else (1,):
        rate = store.commits_per_s(scale.raw_s, writers)
        case = f"raw commits, {writers} writer{'s' if writers > 1 else ''}"
        yield Result(store.name, case, rate, "commits/s", details=details)
