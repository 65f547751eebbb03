"""The process that stays: how soon it is of use, and what it costs to have it."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil

from benchmarks.engine import flows
from benchmarks.engine.figures import times
from benchmarks.engine.scale import Scale
from benchmarks.engine.step_types import NOOP
from benchmarks.engine.stores import Store
from benchmarks.report import Result, Target

_PART = "calve dev"
_CALVE = str(Path(sys.executable).with_name("calve"))
_FIRST_RUN = Target("<", 3)
_IDLE_CPU = Target("<", 1)
_MEMORY = Target("<", 200)
_HELP = Target("<", 0.3)
_PATIENCE_S = 60
_LOOK_S = 0.005
#: Until what the last run leaves behind is done.
_SETTLE_S = 1.0


def measure_service(store: Store, scale: Scale) -> Iterator[Result]:
    """Figures of `calve dev` with its own SQLite state, and of the command line."""
    firsts = [_first_run(store.new_home()) for _ in range(scale.processes)]
    yield Result(_PART, "to the first finished run, new home", statistics.median(firsts), "s", _FIRST_RUN)
    home = store.new_home()
    _first_run(home)
    again = [_first_run(home) for _ in range(scale.processes)]
    yield Result(_PART, "to the first finished run, known home", statistics.median(again), "s", _FIRST_RUN)
    yield from _at_rest(home, scale)
    taken = times(_help, scale.processes, warm_ups=2)
    yield Result(_PART, "calve --help", statistics.median(taken), "s", _HELP)


def _first_run(home: Path) -> float:
    start = time.perf_counter()
    with _dev(home) as (_, http):
        _run_one(http)
        return time.perf_counter() - start


def _at_rest(home: Path, scale: Scale) -> Iterator[Result]:
    with _dev(home) as (process, http):
        taken = times(lambda: _run_one(http), scale.looks, warm_ups=3)
        yield Result(_PART, "one-step run over REST", statistics.median(taken) * 1000, "ms")
        memory = process.memory_info().rss
        time.sleep(_SETTLE_S)
        before = process.cpu_times()
        time.sleep(scale.idle_s)
        after = process.cpu_times()
    busy = (after.user + after.system) - (before.user + before.system)
    yield Result(_PART, "idle CPU", 100 * busy / scale.idle_s, "%", _IDLE_CPU)
    yield Result(_PART, "resident memory, without Spark", memory / 2**20, "MB", _MEMORY)


def _run_one(http: httpx2.Client) -> None:
    """Push if it is not there yet, start, and look until it is over: all that a client does."""
    path = "/workflows/one/versions/latest/actions/start"
    answer = http.post(path, json={})
    if answer.status_code == httpx2.codes.NOT_FOUND:
        http.post("/workflows/yaml", content=json.dumps(flows.one_step(NOOP))).raise_for_status()
        answer = http.post(path, json={})
    found = answer.raise_for_status().json()
    instance = f"/workflows/one/instances/{found['workflow_instance_id']}"
    until = time.monotonic() + _PATIENCE_S
    while http.get(instance).raise_for_status().json()["status"] != "SUCCEEDED":
        if time.monotonic() > until:
            raise RuntimeError(f"{instance} has not succeeded in {_PATIENCE_S} s")
        time.sleep(_LOOK_S)


@contextmanager
def _dev(home: Path) -> Iterator[tuple[psutil.Process, httpx2.Client]]:
    process = subprocess.Popen(
        [_CALVE, "dev", "--json", "--port", "0"],
        env={**os.environ, "CALVE_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with httpx2.Client(base_url=f"{url}/api/v3", timeout=_PATIENCE_S) as http:
            yield psutil.Process(process.pid), http
    finally:
        process.terminate()
        process.wait()


def _help() -> None:
    subprocess.run([_CALVE, "--help"], stdout=subprocess.DEVNULL, check=True)
