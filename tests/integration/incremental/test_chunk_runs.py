"""A chunk of a backfill with Spark: rows of its range land on the branch, once, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from calve.engine.model.requests import RestartPolicy
from calve.ledger.ledger import Ledger
from calve.spark import host
from calve.state.database import Database
from calve.state.orchestration import signals
from calve.steps.incremental.backfilling import BackfillScope, SourceRange
from calve.steps.incremental.shared import close_ledgers, ledger_of
from support import engine_runs as engines
from support.engine_runs import NO_RETRY, EngineRuns, Job, Run, engine_runs, flow, probe
from support.states import place_state

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

BRANCH = "backfill_7"
SCHEMA = pa.schema([("day", pa.date32()), ("id", pa.int64()), ("v", pa.string())])
TARGETS = ("merged", "appended", "audited", "counted", "named")
SETTINGS = """
[spark]
master = "local[2]"
[spark.conf]
"spark.driver.memory" = "1g"
"spark.sql.shuffle.partitions" = "2"
"spark.sql.session.timeZone" = "UTC"
"""
PREPARE = "".join(
    f"ALTER TABLE db.{name} SET TBLPROPERTIES ('write.wap.enabled' = 'true');\n"
    f"ALTER TABLE db.{name} CREATE BRANCH {BRANCH};\n"
    for name in TARGETS
)
MERGE = """
MERGE INTO db.merged t USING (SELECT * FROM ${capture__icdc_table}) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
INSERT INTO db.named SELECT * FROM db.changed_events AS c
"""
COUNT = """
from pyspark.sql import SparkSession, functions as f
from calve.spark.user import step_context
step = step_context()
rows = step.spark.table(step.icdc_table).groupBy("day").agg(f.count("*").alias("id"), f.max("v").alias("v"))
step.write_once(rows, "db.counted")
"""


@pytest.fixture
def calve(home: Path, _probe_type: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineRuns]:
    """An engine whose steps share a small Spark."""
    monkeypatch.setattr(engines, "DEADLINE_S", 300.0)
    database = Database(place_state(home))
    (home / "calve.toml").write_text(SETTINGS)
    with engine_runs(home, database) as made:
        yield made
    host.stop(made.settings)
    close_ledgers()
    database.close()


@pytest.fixture
def ledger(calve: EngineRuns) -> Ledger:
    return ledger_of(calve.settings)


def make(ledger: Ledger, name: str) -> Table:
    return ledger.lake.catalog("lake").create_table(f"db.{name}", schema=SCHEMA)


def add(table: Table, *rows: tuple[int, int, str]) -> None:
    days, keys, texts = zip(*[(date(2024, 1, day), key, text) for day, key, text in rows], strict=True)
    table.append(pa.table({"day": list(days), "id": list(keys), "v": list(texts)}, schema=SCHEMA))


def main_of(table: Table) -> int | None:
    current = table.refresh().current_snapshot()
    return None if current is None else current.snapshot_id


def on_branch(table: Table) -> list[tuple[int, int, str]]:
    snapshot = table.refresh().snapshot_by_name(BRANCH)
    assert snapshot is not None
    found = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().to_pylist()
    return sorted((row["day"].day, row["id"], row["v"]) for row in found)


def pattern(kind: str, **options: Any) -> Job:
    section = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in kind).lstrip("_")
    query = "SELECT day, id, v FROM :source"
    return {
        "job": {"id": section, "type": kind, section: {"query": query, **options}, "retry_policy": NO_RETRY}
    }


def workflow(code: Path, *more: Job) -> dict[str, Any]:
    capture = {"source_tables": ["db.events"], "icdc_name": "db.changed_events"}
    jobs: list[Job] = [
        {"job": {"id": "capture", "type": "IpCapture", "ip_capture": capture}},
        {"job": {"id": "merge", "type": "Sql", "script": MERGE, "retry_policy": NO_RETRY}},
        pattern("IncrementalAppend", target="lake.db.appended"),
        pattern(
            "WriteAuditPublish",
            pattern="IncrementalMerge",
            keys=["id"],
            target="lake.db.audited",
            audits={"named": "SELECT id FROM lake.db.audited WHERE v IS NULL"},
        ),
        {"job": {"id": "count", "type": "Spark", "file": str(code), "retry_policy": NO_RETRY}},
        *more,
        {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"capture_step": "capture"}}},
    ]
    made = flow(*jobs, dag="sequential")
    made["Workflow"]["ENDING"] = "DONE"
    return made


def test_rows_of_the_range_land_once_on_the_branch_and_nowhere_else(
    calve: EngineRuns, ledger: Ledger, tmp_path: Path
) -> None:
    ledger.lake.catalog("lake").create_namespace("db")
    code = tmp_path / "count.py"
    code.write_text(COUNT)
    source, targets = make(ledger, "events"), {name: make(ledger, name) for name in TARGETS}
    add(source, (1, 1, "a"), (2, 2, "b"))
    add(source, (2, 3, "c"), (3, 4, "d"))
    regular = calve.run(workflow(code, probe("last", "${ENDING}", retry_policy=NO_RETRY)), ENDING="DONE")
    assert regular.status == "SUCCEEDED", errors(regular)
    prepare = {"job": {"id": "sql", "type": "Sql", "script": PREPARE, "retry_policy": NO_RETRY}}
    prepared = calve.run(flow(prepare, id="prepare"))
    assert prepared.status == "SUCCEEDED", errors(prepared)
    add(source, (2, 5, "late"), (4, 6, "new"))
    heads = {name: main_of(table) for name, table in targets.items()}
    position, sent = ledger.checkpoints(), len(calve.rows(signals))

    range_ = SourceRange("day", "2024-01-02", "2024-01-03", main_of(source))
    scope = BackfillScope(
        7, 0, 3, 1, BRANCH, tuple(f"lake.db.{x}" for x in TARGETS), {"lake.db.events": range_}
    )
    failed = calve.run("w", {"initiator": scope.initiator()}, ENDING="USER_ERROR")
    assert failed.statuses["last"] != "SUCCEEDED"
    assert failed.statuses["count"] == "SUCCEEDED", errors(failed)
    expected = written_by_chunk(targets)
    day2 = [(2, 2, "b"), (2, 3, "c"), (2, 5, "late")]
    old = [(1, 1, "a"), (2, 2, "b"), (2, 3, "c"), (3, 4, "d")]
    everything = sorted({*old, *day2})
    assert expected == {
        "merged": everything,
        "audited": everything,
        "appended": sorted([*old, *day2]),
        "named": sorted([*old, *day2]),
        "counted": [(1, 1, "a"), (2, 2, "c"), (2, 3, "late"), (3, 1, "d")],
    }
    again = calve.rerun(failed, policy=RestartPolicy.RESTART_FROM_BEGINNING, params=ended("DONE"))
    assert again.status == "SUCCEEDED", errors(again)
    assert written_by_chunk(targets) == expected
    assert {name: main_of(table) for name, table in targets.items()} == heads
    assert ledger.checkpoints() == position
    assert len(calve.rows(signals)) == sent


def written_by_chunk(targets: dict[str, Table]) -> dict[str, list[tuple[int, int, str]]]:
    return {name: on_branch(table) for name, table in targets.items()}


def ended(how: str) -> dict[str, Any]:
    from calve.workflow.params import ParamDefinition

    return {"ENDING": ParamDefinition.infer("ENDING", how)}


def errors(run: Run) -> list[Any]:
    return [step.error for step in run.steps.values() if step.error is not None]
