"""Other engines, doing the same in the same run.

They run in an environment of their own, because they pin much that Calve uses in other versions, and tell
their times as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.engine.figures import Subject, figure
from benchmarks.engine.scale import Scale
from benchmarks.engine.stores import SQLITE, Store
from benchmarks.report import Result

PYTHON = Path(__file__).parents[3] / ".venv-bench" / "bin" / "python"
_CASES = {
    "one step": ("one-step run", "ms"),
    "chain": ("chain, a step", "ms"),
    "parallel": ("parallel steps", "steps/s"),
    "burst": ("runs at once", "runs/s"),
}
_TIMEOUT_S = 1_800


def measure_peers(store: Store, scale: Scale) -> Iterator[Result]:
    """DBOS on this kind of database; Dagster beside SQLite, which is what it keeps its runs in."""
    subject = Subject(store.name, store.commits_per_s(scale.raw_s))
    home = store.new_home()
    url = store.new_url(home)
    yield from _figures("DBOS", _ask("dbos_peer", url, home, scale), subject)
    if store.name == SQLITE:
        home = store.new_home()
        yield from _figures("Dagster", _ask("dagster_peer", str(home), home, scale), subject)


def _figures(name: str, answer: dict[str, Any], subject: Subject) -> Iterator[Result]:
    for way, measures in answer["times"].items():
        peer = Subject(subject.database, subject.raw_commits_per_s, f"{name} {way}")
        for measure, taken in measures.items():
            case, unit = _CASES[measure]
            yield figure(peer, measure, case, taken, unit, version=answer["version"])


def _ask(module: str, place: str, home: Path, scale: Scale) -> dict[str, Any]:
    script = Path(__file__).with_name(f"{module}.py")
    done = subprocess.run(
        [PYTHON, script, place, scale.to_text()],
        env={**os.environ, "DAGSTER_HOME": str(home), "DAGSTER_DISABLE_TELEMETRY": "1"},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
