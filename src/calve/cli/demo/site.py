"""A home of its own with an engine at work in it, for the length of the demo."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calve.cli.client import Json, StartCall
from calve.cli.definitions import load_file
from calve.cli.embedded_client import EmbeddedClient
from calve.errors import FailedError
from calve.ledger.ledger import Ledger
from calve.settings import Settings, load_settings
from calve.workflow.definition.properties import Properties
from calve.workflow.params import ParamDefinition

_USER = "demo"
#: Far more than a trigger takes.
_TRIGGER_S = 60.0
_LOOK_S = 0.1
_SUCCEEDED = "SUCCEEDED"
#: Spark's own 200 are for clusters: each task of a shuffle would write as many files.
_CONF = {"spark.sql.shuffle.partitions": "8"}
_FEW_ROWS = 100_000
#: With few rows the JVM would spend much of its time on making code fast that hardly runs again.
_FEW_ROWS_CONF = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}

#: Told what a run is doing, as it changes.
Watcher = Callable[[Json], None]


@dataclass(frozen=True, slots=True)
class Measure:
    """What the Spark steps of a run took."""

    rows: int = 0
    #: Those of the files that scans opened.
    bytes: int = 0
    cpu_ms: int = 0
    wall_ms: int = 0

    def __add__(self, other: Measure) -> Measure:
        return Measure(
            self.rows + other.rows,
            self.bytes + other.bytes,
            self.cpu_ms + other.cpu_ms,
            self.wall_ms + other.wall_ms,
        )


class Site:
    """Pushes workflows, runs them one after the other, and measures them."""

    def __init__(self, client: EmbeddedClient, ledger: Ledger) -> None:
        self._client = client
        self._ledger = ledger

    def push(self, files: Sequence[Path]) -> list[str]:
        """Push workflow files; the ids of the workflows."""
        types = self._client.job_types()
        pushed = self._client.push([load_file(file, types).definition for file in files])
        return [one["workflow_id"] for one in pushed]

    def push_resting(self, files: Sequence[Path]) -> None:
        """Push workflow files whose triggers rest: they run when they are told to."""
        resting = Properties(time_trigger_disabled=True, signal_trigger_disabled=True)
        for workflow_id in self.push(files):
            self._client.orchestrator.set_properties(workflow_id, resting, _USER)

    def await_triggered(
        self, workflow_id: str, after: int, watch: Watcher = lambda summary: None
    ) -> list[Json]:
        """The instances that triggers have started after one, once nothing is left for them to process.

        What is written in several statements may start several.
        """
        done: list[Json] = []
        deadline = time.monotonic() + _TRIGGER_S
        while not done or not self._is_caught_up(workflow_id, after + len(done)):
            if self._newest(workflow_id) > after + len(done):
                done.append(self._await(workflow_id, after + len(done) + 1, "latest", watch))
                deadline = time.monotonic() + _TRIGGER_S
            elif time.monotonic() > deadline:
                raise FailedError(
                    "DEMO_FAILED",
                    f"no trigger has started {workflow_id} within {_TRIGGER_S:.0f} s",
                    f"look at what `calve triggers {workflow_id}` says",
                )
            else:
                time.sleep(_LOOK_S)
        return done

    def _is_caught_up(self, workflow_id: str, newest: int) -> bool:
        behind = [
            found.lag.snapshots
            for found in self._ledger.lag()
            if found.lag is not None and found.position.consumer.startswith(f"{workflow_id}/")
        ]
        return not any(behind) and self._newest(workflow_id) == newest

    def _newest(self, workflow_id: str) -> int:
        found = self._client.list_runs(workflow_id, None, 1)["runs"]
        return int(found[0]["instance_id"]) if found else 0

    def run(self, workflow_id: str, watch: Watcher = lambda summary: None, **params: Any) -> Json:
        """A run of a workflow, once it has succeeded. Raises DEMO_FAILED with the reason."""
        given = {name: ParamDefinition.infer(name, value).to_json() for name, value in params.items()}
        started = self._client.start(StartCall(workflow_id, params=given))
        return self._await(workflow_id, started["instance_id"], str(started["run_id"]), watch)

    def _await(self, workflow_id: str, instance_id: int, run_id: str, watch: Watcher) -> Json:
        summary: Json = {}
        for summary in self._client.watch_run(workflow_id, instance_id, run_id):
            watch(summary)
        if summary["status"] != _SUCCEEDED:
            raise _failed(summary)
        return summary


def measure(summary: Mapping[str, Any]) -> Measure:
    """What a run took, by what its steps kept."""
    counts = [step.get("artifacts", {}).get("spark", {}) for step in summary["steps"].values()]
    return Measure(
        sum(found.get("input_rows", 0) for found in counts),
        sum(found.get("input_bytes", 0) for found in counts),
        sum(found.get("cpu_ms", 0) for found in counts),
        summary["ended_at"] - summary["started_at"],
    )


@contextmanager
def demo_site(home: Path, rows_per_day: int) -> Iterator[Site]:
    """A site in a home; the engine and its Spark end with the block."""
    from calve.spark import host

    settings = _fit_spark(load_settings(home), rows_per_day)
    settings.ensure_home()
    client = EmbeddedClient(settings, _USER)
    try:
        with Ledger(settings) as ledger, client.running_engine():
            yield Site(client, ledger)
    finally:
        host.stop(settings)
        client.close()


def _fit_spark(settings: Settings, rows_per_day: int) -> Settings:
    """Spark as it suits the rows; what the user has set stays."""
    fitting = _CONF | (_FEW_ROWS_CONF if rows_per_day <= _FEW_ROWS else {})
    spark = settings.spark.model_copy(update={"conf": fitting | settings.spark.conf})
    return settings.model_copy(update={"spark": spark})


def _failed(summary: Json) -> FailedError:
    errors = {
        step_id: step["error"] for step_id, step in summary["steps"].items() if step.get("error") is not None
    }
    said = "; ".join(f"step '{step_id}': {error['message']}" for step_id, error in errors.items())
    return FailedError(
        "DEMO_FAILED",
        f"workflow {summary['workflow_id']} is {summary['status']}: {said or 'no step says why'}",
        f"look at its logs: calve logs {summary['workflow_id']} {summary['instance_id']} STEP",
    )
