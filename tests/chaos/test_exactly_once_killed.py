"""Real workers, real Spark steps, `kill -9`: plain inserts and additive merges land once all the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from calve.engine.model.requests import RestartRequest
from calve.engine.model.statuses import RunStatus
from calve.lake.catalogs import Lake
from calve.settings import load_settings
from calve.spark.host import stop
from calve.spark.host.folder import HostFolder, hosts_folder
from calve.spark.once.notes import WRITES_FILE, read_notes
from support.workers import Site, Worker, until

pytestmark = [pytest.mark.slow, pytest.mark.jvm]

PATIENCE_S = 240.0
CONF = """
[spark]
master = "local[2]"
[spark.conf]
"spark.driver.memory" = "1g"
"spark.sql.shuffle.partitions" = "2"
[steps]
grace = "2s"
"""


class Killing:
    """A home with a lake, one source, and a workflow for each test."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        (home / "calve.toml").write_text(CONF)
        self.home = home
        self.lake = Lake(load_settings(home))
        self.lake.catalog("lake").create_namespace("db")
        self.site = Site(home)

    def prepare(self, name: str, script: str, retries: int = 3) -> None:
        """Tables and a workflow of their own; what is slow in the script is so until the gate is opened."""
        catalog = self.lake.catalog("lake")
        schema = pa.schema([pa.field("k", pa.int64()), pa.field("n", pa.int64())])
        for table in (f"{name}_source", f"{name}_target", f"{name}_gate"):
            catalog.create_table(f"db.{table}", schema)
        self.add(name, [(1, 10), (2, 20)])
        catalog.load_table(f"db.{name}_gate").append(pa.table({"k": [0] * 900, "n": [0] * 900}))
        naps = f"SELECT reflect('java.lang.Thread', 'sleep', 500L) AS nap FROM lake.db.{name}_gate"
        slow = f"SELECT count(nap) FROM ({naps})"
        filled = script.format(target=f"lake.db.{name}_target", icdc="${capture__icdc_table}", slow=slow)
        self.site.push(
            f"""
Workflow:
  id: {name}
  jobs:
    - job: {{id: capture, type: IpCapture, ip_capture: {{source_tables: [lake.db.{name}_source]}}}}
    - job:
        id: write
        type: Sql
        retry_policy:
          error_retry_limit: {retries}
          platform_retry_limit: {retries}
          backoff: {{type: FIXED_BACKOFF, error_retry_backoff_in_secs: 1, platform_retry_backoff_in_secs: 1}}
        script: |
          {filled}
    - job: {{id: commit, type: IpCommit, ip_commit: {{capture_step: capture}}}}
  dag: sequential
"""
        )

    def open_gate(self, name: str) -> None:
        self.lake.catalog("lake").load_table(f"db.{name}_gate").delete()

    def add(self, name: str, rows: list[tuple[int, int]]) -> None:
        keys, values = zip(*rows, strict=True)
        self.lake.catalog("lake").load_table(f"db.{name}_source").append(
            pa.table({"k": pa.array(keys, pa.int64()), "n": pa.array(values, pa.int64())})
        )

    def target(self, name: str) -> Counter[tuple[int, int]]:
        table = self.lake.catalog("lake").load_table(f"db.{name}_target")
        return Counter((row["k"], row["n"]) for row in table.scan().to_arrow().to_pylist())

    def snapshots(self, name: str) -> int:
        return len(self.lake.catalog("lake").load_table(f"db.{name}_target").metadata.snapshots)

    def place(self, name: str, instance: int, attempt: int, run: int = 1) -> Path:
        return self.home / "attempts" / name / str(instance) / str(run) / "write" / str(attempt)

    def until_landed(self, name: str, instance: int, attempt: int = 1) -> Path:
        place = self.place(name, instance, attempt)
        wait(lambda: (place / WRITES_FILE).exists() and read_notes(place)["1"].snapshot_id is not None)
        return place

    def until_slow(self, place: Path) -> None:
        """Until Spark works on the last statement, which takes long."""

        def works() -> bool:
            shown = json.loads(_text(place / "progress.json") or "{}")
            assert not (place / "failure.json").exists(), _text(place / "log.txt")
            is_last = shown.get("statement", 0) == shown.get("statements", 1)
            return bool(is_last and shown.get("tasks", 0) > shown.get("tasks_done", 0))

        wait(works)

    def end_step(self, place: Path) -> None:
        """kill -9 for the step's own process."""
        shell = psutil.Process(int(_text(place / "process").split()[1]))
        for process in [*shell.children(recursive=True), shell]:
            process.kill()

    def hosts(self) -> list[HostFolder]:
        return [
            folder for path in hosts_folder(self.home).glob("*") if (folder := HostFolder(path)).is_alive()
        ]

    def lose_landing(self, place: Path) -> None:
        """As if the process had died before it noted what landed: only the target's snapshot knows."""
        notes = json.loads(_text(place / WRITES_FILE))
        notes["1"] |= {"snapshot_id": None, "landed_ms": None}
        (place / WRITES_FILE).write_text(json.dumps(notes))

    def log(self, name: str, instance: int, attempt: int, run: int = 1) -> str:
        return _text(self.place(name, instance, attempt, run) / "log.txt")

    def until_over(self, name: str, instance: int) -> str:
        def status() -> str | None:
            found = str(self.site.summary(name, instance)["status"])
            return found if RunStatus(found).is_terminal else None

        return until(status, PATIENCE_S)


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def wait(holds: Callable[[], bool]) -> None:
    until(lambda: True if holds() else None, PATIENCE_S)


@pytest.fixture(scope="module")
def killing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killing]:
    made = Killing(tmp_path_factory.mktemp("killing") / "home")
    yield made
    made.site.close()
    stop(load_settings(made.home))


@pytest.fixture
def worker(killing: Killing) -> Iterator[Worker]:
    made = killing.site.worker()
    yield made
    made.end()


INSERT = "INSERT INTO {target} SELECT k, n FROM {icdc}; {slow}"
SLOW_INSERT = "INSERT INTO {target} SELECT k, n FROM {icdc} WHERE ({slow}) >= 0"
MERGE = (
    "MERGE INTO {target} t USING (SELECT k, sum(n) AS n FROM {icdc} GROUP BY k) s ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT *; {slow}"
)
FIRST = Counter({(1, 10): 1, (2, 20): 1})


@pytest.mark.usefixtures("worker")
def test_a_step_killed_in_its_job_writes_once(killing: Killing) -> None:
    killing.prepare("in_job", SLOW_INSERT)
    instance = killing.site.start("in_job")
    place = killing.place("in_job", instance, 1)
    killing.until_slow(place)
    killing.end_step(place)
    killing.open_gate("in_job")
    assert killing.until_over("in_job", instance) == "SUCCEEDED"
    assert killing.target("in_job") == FIRST
    assert killing.snapshots("in_job") == 1


def test_a_merge_that_only_its_snapshot_knows_of_is_not_repeated(killing: Killing, worker: Worker) -> None:
    killing.prepare("merged", MERGE)
    instance = killing.site.start("merged")
    place = killing.until_landed("merged", instance)
    killing.until_slow(place)
    worker.freeze()
    killing.end_step(place)
    killing.lose_landing(place)
    killing.open_gate("merged")
    worker.thaw()
    assert killing.until_over("merged", instance) == "SUCCEEDED"
    assert killing.target("merged") == FIRST
    assert "has landed in snapshot" in killing.log("merged", instance, 2)
    killing.add("merged", [(1, 5), (3, 30)])
    again = killing.site.start("merged")
    assert killing.until_over("merged", again) == "SUCCEEDED"
    assert killing.target("merged") == Counter({(1, 15): 1, (2, 20): 1, (3, 30): 1})


def test_worker_step_and_jvm_killed_at_once(killing: Killing, worker: Worker) -> None:
    killing.prepare("all_gone", INSERT)
    instance = killing.site.start("all_gone")
    place = killing.until_landed("all_gone", instance)
    killing.until_slow(place)
    worker.kill()
    for host in killing.hosts():
        record = host.read_record()
        assert record is not None
        psutil.Process(record.pid).kill()
    killing.end_step(place)
    killing.open_gate("all_gone")
    killing.add("all_gone", [(3, 30)])
    killing.site.worker()
    assert killing.until_over("all_gone", instance) == "SUCCEEDED"
    assert killing.target("all_gone") == FIRST
    again = killing.site.start("all_gone")
    assert killing.until_over("all_gone", again) == "SUCCEEDED"
    assert killing.target("all_gone") == FIRST + Counter({(3, 30): 1})


def test_a_run_that_failed_for_good_leaves_its_capture_to_the_next(killing: Killing, worker: Worker) -> None:
    killing.prepare("failed", INSERT, retries=0)
    instance = killing.site.start("failed")
    place = killing.until_landed("failed", instance)
    killing.until_slow(place)
    killing.end_step(place)
    assert killing.until_over("failed", instance) == "FAILED"
    killing.open_gate("failed")
    killing.add("failed", [(3, 30)])
    for _ in range(2):
        again = killing.site.start("failed")
        assert killing.until_over("failed", again) == "SUCCEEDED"
    assert killing.target("failed") == FIRST + Counter({(3, 30): 1})
    killing.site.orchestrator.restart(RestartRequest(workflow_id="failed", instance_id=instance))
    assert killing.until_over("failed", instance) == "FAILED"
    step = killing.site.summary("failed", instance)["steps"]["write"]
    assert step["error"]["code"] == "CAPTURE_TAKEN_OVER"
    assert killing.target("failed") == FIRST + Counter({(3, 30): 1})
