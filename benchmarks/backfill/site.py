"""A home of its own, with an engine at work in it and a Spark that goes with it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.backfill.cost import CHUNKS, Cost, counted, timed, work_of
from calve.backfill.acting import PlanBody
from calve.backfill.service import Backfills
from calve.backfill.statuses import BackfillStatus
from calve.cli.client import Json, StartCall
from calve.cli.definitions import load_file
from calve.cli.embedded_client import EmbeddedClient
from calve.settings import load_settings
from calve.spark import host
from calve.spark.host.folder import hosts_folder
from calve.steps.incremental.shared import close_ledgers
from calve.workflow.definition import load_yaml
from calve.workflow.definition.properties import Properties
from calve.workflow.params import ParamDefinition

_USER = "bench"
_LOOK_S = 0.2
_CONF = {
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    # What has ended is asked for at the end of a step; a backfill has many.
    "spark.ui.retainedJobs": "100000",
    "spark.ui.retainedStages": "100000",
}


class Site:
    """Pushes workflows, runs and backfills them, and says what that took."""

    def __init__(self, client: EmbeddedClient, home: Path) -> None:
        self.client = client
        self.backfills = Backfills(client.orchestrator)
        self._home = home

    def push_files(self, files: Sequence[Path]) -> None:
        """Push workflow files whose triggers rest: they run when they are told to."""
        types = self.client.job_types()
        resting = Properties(time_trigger_disabled=True, signal_trigger_disabled=True)
        for pushed in self.client.push([load_file(file, types).definition for file in files]):
            self.client.orchestrator.set_properties(pushed["workflow_id"], resting, _USER)

    def push(self, workflow: Json) -> None:
        """Push a workflow that is given as data."""
        loaded = load_yaml(json.dumps({"Workflow": workflow}), types=self.client.job_types())
        self.client.push([loaded.definition])

    def run(self, workflow_id: str, **params: Any) -> Cost:
        """A run of a workflow, once it has succeeded."""
        given = {name: ParamDefinition.infer(name, value).to_json() for name, value in params.items()}
        summary: Json = {}

        def go() -> None:
            nonlocal summary
            started = self.client.start(StartCall(workflow_id, params=given))
            run_id = str(started["run_id"])
            for found in self.client.watch_run(workflow_id, started["instance_id"], run_id):
                summary = found

        wall, load = timed(go, self._jvm())
        if summary["status"] != "SUCCEEDED":
            raise RuntimeError(f"{workflow_id} is {summary['status']}: {_errors(summary)}")
        spent = [
            counted(step["artifacts"]["spark"], step["ended_at"] - step["started_at"])
            for step in summary["steps"].values()
            if "spark" in step.get("artifacts", {})
        ]
        return Cost(wall, load, {CHUNKS: sum(spent[1:], spent[0])} if spent else {}, 0)

    def backfill(self, workflow_id: str, lower: str, upper: str, **more: Any) -> Cost:
        """A backfill to its end, from the plan on, published without being asked."""
        body = PlanBody.model_validate({"workflow_id": workflow_id, "from": lower, "to": upper, **more})
        found: Json = {}

        def go() -> None:
            nonlocal found
            plan = self.backfills.plan(body.to_request(), _USER, auto_publish=True)
            self.backfills.start(plan.id, _USER)
            found = self._await(plan.id)

        wall, load = timed(go, self._jvm())
        backfill = self.backfills.get(found["backfill_id"])
        with self.client.orchestrator.database.read() as connection:
            work, again = work_of(connection, backfill)
        chunks = sum(len(stage["chunk_list"]) for stage in found["stages"])
        return Cost(wall, load, work, chunks, again)

    def _await(self, backfill_id: int) -> Json:
        while True:
            found = self.backfills.status(backfill_id)
            if found["status"] == BackfillStatus.DONE.value:
                return found
            if found["status"] != BackfillStatus.RUNNING.value:
                raise RuntimeError(f"backfill {backfill_id} is {found['status']}: {self._why(found)}")
            time.sleep(_LOOK_S)

    def _why(self, found: Json) -> Any:
        driver = self.client.run_summary(found["driver"]["workflow_id"], found["driver"]["instance_id"])
        return _errors(driver)

    def _jvm(self) -> psutil.Process | None:
        """The JVM of the embedded Spark; None before the first step that needs it."""
        records = [json.loads(file.read_text()) for file in hosts_folder(self._home).glob("*/host.json")]
        return psutil.Process(records[0]["jvm_pid"]) if records else None


@contextmanager
def open_site(home: Path) -> Iterator[Site]:
    """A site; the engine and its Spark end with the block."""
    settings = load_settings(home)
    spark = settings.spark.model_copy(update={"conf": _CONF | settings.spark.conf})
    settings = settings.model_copy(update={"spark": spark})
    settings.ensure_home()
    client = EmbeddedClient(settings, _USER)
    try:
        with client.running_engine():
            yield Site(client, home)
    finally:
        host.stop(settings)
        close_ledgers()
        client.close()


def _errors(summary: Json) -> dict[str, Any]:
    return {name: step["error"] for name, step in summary["steps"].items() if step.get("error")}
