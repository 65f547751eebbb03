"""A chain with a diamond over days of events, its regular runs, its backfills, and what it should come to.

events ─▶ daily ─┬─▶ by_account ─┬─▶ summary
                 └─▶ by_day ─────┘
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from calve.backfill.acting import PlanBody
from calve.backfill.service import Backfills
from calve.engine.views.runs import run_summary
from calve.lake import open_table
from calve.ledger.ledger import Ledger
from calve.spark import host
from calve.state.database import Database
from calve.steps.incremental.shared import close_ledgers, ledger_of
from support import engine_runs as engines
from support.engine_runs import NO_RETRY, EngineRuns, Job, engine_runs, flow
from support.states import place_state

FIRST = date(2024, 1, 1)
SETTINGS = """
[spark]
master = "local[2]"
[spark.conf]
"spark.driver.memory" = "1g"
"spark.sql.shuffle.partitions" = "2"
"spark.sql.session.timeZone" = "UTC"
"spark.sql.adaptive.enabled" = "false"
"""
TABLES = """
CREATE NAMESPACE IF NOT EXISTS db;
CREATE TABLE db.events (day DATE, id BIGINT, account STRING, secs INT, seq BIGINT)
  USING iceberg PARTITIONED BY (day);
CREATE TABLE db.daily (day DATE, id BIGINT, account STRING, secs INT) USING iceberg PARTITIONED BY (day);
CREATE TABLE db.by_account (day DATE, account STRING, secs BIGINT, plays BIGINT)
  USING iceberg PARTITIONED BY (day);
CREATE TABLE db.by_day (day DATE, plays BIGINT, secs BIGINT) USING iceberg PARTITIONED BY (day);
CREATE TABLE db.summary (day DATE, plays BIGINT, top BIGINT) USING iceberg PARTITIONED BY (day)
"""
#: `factor` is the logic that a backfill may be about.
DAILY = """
MERGE INTO db.daily t USING (
  SELECT day, id, account, secs * {factor} AS secs FROM (
    SELECT *, row_number() OVER (PARTITION BY day, id ORDER BY seq DESC) AS n FROM ${{capture__icdc_table}})
  WHERE n = 1) s
ON t.day = s.day AND t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
SUMMARY = """
MERGE INTO db.summary t USING (
  SELECT d.day, max(d.plays) AS plays, max(a.secs) AS top
  FROM db.by_day d JOIN db.by_account a ON a.day = d.day
  WHERE d.day BETWEEN DATE '${capture__range_lower}' AND DATE '${capture__range_upper}' GROUP BY d.day) s
ON t.day = s.day
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
ALL_OPERATIONS = ["append", "overwrite", "delete"]
NAMES = ("daily", "by_account", "by_day", "summary")


def day(number: int) -> str:
    """The date of a day, counted from 0."""
    return (FIRST + timedelta(days=number)).isoformat()


def capture(sources: list[Any], **options: Any) -> Job:
    """The step that captures."""
    section = {"source_tables": sources, **options}
    return {"job": {"id": "capture", "type": "IpCapture", "ip_capture": section}}


def statements(script: str) -> Job:
    """The step that writes, as SQL."""
    return {"job": {"id": "write", "type": "Sql", "script": script, "retry_policy": NO_RETRY}}


def aggregate(target: str, keys: list[str], query: str, **more: Any) -> Job:
    """The step that writes, as a pattern."""
    options = {"target": f"lake.db.{target}", "keys": keys, "query": query, **more}
    return {
        "job": {
            "id": "write",
            "type": "IncrementalAggregate",
            "incremental_aggregate": options,
            "retry_policy": NO_RETRY,
        }
    }


def workflow(id: str, capture: Job, write: Job) -> dict[str, Any]:
    """capture -> write -> commit."""
    commit = {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"capture_step": "capture"}}}
    return flow(capture, write, commit, id=id, dag="sequential")


def definitions(factor: int = 1) -> list[dict[str, Any]]:
    """The four workflows."""
    account = "SELECT day, account, sum(secs) AS secs, count(*) AS plays FROM :source GROUP BY day, account"
    daily = "SELECT day, count(*) AS plays, sum(secs) AS secs FROM :source GROUP BY day"
    both = capture(
        ["db.by_account", "db.by_day"],
        capture_mode="BOTH",
        range_columns=["day"],
        data_operations=ALL_OPERATIONS,
        on_empty="skip",
    )
    return [
        workflow("daily", capture(["db.events"], on_empty="skip"), statements(DAILY.format(factor=factor))),
        workflow(
            "by_account",
            capture(["db.daily"], data_operations=ALL_OPERATIONS, on_empty="skip"),
            aggregate("by_account", ["day", "account"], account),
        ),
        # Sees what is appended and nothing else: a backfill gives it whole days.
        workflow("by_day", capture(["db.daily"], on_empty="skip"), aggregate("by_day", ["day"], daily)),
        workflow("summary", both, statements(SUMMARY)),
    ]


class Pipeline:
    """The workflows on an engine with a small Spark."""

    def __init__(self, calve: EngineRuns) -> None:
        self.calve = calve
        self.backfills = Backfills(calve.calve)
        self.ledger: Ledger = ledger_of(calve.settings)
        self.events: list[tuple[str, int, str, int]] = []
        self._seq = 0

    def make(self, factor: int = 1) -> None:
        """Make the tables anew, and push the workflows."""
        for found in self.ledger.checkpoints():
            position = found.position
            self.ledger.reset_checkpoint(position.table_name, consumer=position.consumer, force=True)
        catalog = self.ledger.lake.catalog("lake")
        for name in ("events", *NAMES):
            if catalog.table_exists(f"db.{name}"):
                catalog.drop_table(f"db.{name}")
        self.events.clear()
        self.sql(TABLES)
        self.push(factor)

    def push(self, factor: int = 1) -> None:
        for definition in definitions(factor):
            self.calve.push(definition)

    def push_daily(self, column: str) -> None:
        """A first stage that fills one column more."""
        script = DAILY.format(factor=1).replace("* 1 AS secs FROM", f"* 1 AS secs, {column} FROM")
        self.calve.push(workflow("daily", capture(["db.events"], on_empty="skip"), statements(script)))

    def push_failing(self, account: str) -> None:
        """A first stage that fails where it meets an account, until somebody mends it (`db.mended`)."""
        met = f"(SELECT count(*) FROM ${{capture__icdc_table}} WHERE account = '{account}')"
        check = f"SELECT assert_true({met} = 0 OR (SELECT count(*) FROM db.mended) > 0)"
        self.sql("CREATE TABLE IF NOT EXISTS db.mended (x INT) USING iceberg; DELETE FROM db.mended")
        daily = capture(["db.events"], on_empty="skip")
        self.calve.push(workflow("daily", daily, statements(f"{check};{DAILY.format(factor=1)}")))

    def sql(self, script: str) -> None:
        """Run a script as a workflow of its own."""
        self.done(self.calve.run(flow(statements(script), id="script")))

    def add(self, *rows: tuple[int, int, str, int]) -> None:
        """Events come: day, id, account, seconds. The newest of an id on a day counts."""
        table = self.ledger.lake.catalog("lake").load_table("db.events")
        schema = table.schema().as_arrow()
        data = []
        for number, key, account, secs in rows:
            self._seq += 1
            found = FIRST + timedelta(days=number)
            data.append({"day": found, "id": key, "account": account, "secs": secs, "seq": self._seq})
            self.events.append((found.isoformat(), key, account, secs))
        table.append(pa.Table.from_pylist(data, schema=schema))

    def run_all(self) -> None:
        """One regular run of each, in order."""
        for name in NAMES:
            self.run(name)

    def run(self, name: str) -> None:
        self.done(self.calve.run(name))

    def done(self, run: Any) -> None:
        assert run.status == "SUCCEEDED", {name: step.error for name, step in run.steps.items()}

    def plan(self, first: int, last: int, **more: Any) -> int:
        """A plan for the days from one to before another."""
        body = {"workflow_id": "daily", "from": day(first), "to": day(last), "auto_publish": True, **more}
        return self.backfills.plan(PlanBody.model_validate(body).to_request(), "ada", body["auto_publish"]).id

    def finish(self, backfill_id: int, status: str = "DONE") -> dict[str, Any]:
        """Wait until a backfill has this status."""
        return self.until(backfill_id, lambda found: found["status"] == status, status)

    def until_waiting(self, backfill_id: int) -> dict[str, Any]:
        """Wait until somebody has to say that it may be published."""
        return self.until(backfill_id, lambda found: bool(found["waiting_for_approval"]))

    def until(
        self, backfill_id: int, is_it: Callable[[dict[str, Any]], bool], *allowed: str
    ) -> dict[str, Any]:
        """Wait until something is so."""

        def look() -> dict[str, Any] | None:
            found = self.backfills.status(backfill_id)
            assert found["status"] in ("RUNNING", "PAUSED", *allowed), self.trouble(found)
            return found if is_it(found) else None

        return self.calve.until(look, lambda: str(self.trouble(self.backfills.status(backfill_id))))

    def trouble(self, found: dict[str, Any]) -> Any:
        """Why a backfill failed, as far as its runs tell."""
        told: list[Any] = [found["status"]]
        for workflow_id, instance in self._instances(found):
            with self.calve.database.read() as connection:
                steps = run_summary(connection, workflow_id, instance)["steps"]
            told += [(workflow_id, name, step["error"]) for name, step in steps.items() if step.get("error")]
        return told

    def _instances(self, found: dict[str, Any]) -> Iterator[tuple[str, int]]:
        yield found["driver"]["workflow_id"], found["driver"]["instance_id"]
        for stage in found["stages"]:
            for chunk in stage["chunk_list"]:
                if chunk["instance_id"] is not None:
                    yield chunk["workflow_id"], chunk["instance_id"]

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of a table on main."""
        table = self.ledger.lake.catalog("lake").load_table(f"db.{name}")
        found = table.scan().to_arrow().to_pylist()
        return sorted(tuple(str(x) if isinstance(x, date) else x for x in row.values()) for row in found)

    def heads(self) -> dict[str, int | None]:
        lake = self.ledger.lake
        return {x: open_table(lake, f"db.{x}").metadata.current_snapshot_id("main") for x in NAMES}

    def check(self, factor: int = 1, days_to_check: int | None = None) -> None:
        """All tables are what a rebuild from all events would give, all days of them or the first ones."""
        end = day(days_to_check) if days_to_check is not None else "9999"
        newest = {(when, key): (account, secs) for when, key, account, secs in self.events if when < end}
        daily = sorted((when, key, who, secs * factor) for (when, key), (who, secs) in newest.items())
        accounts: dict[tuple[str, str], list[int]] = defaultdict(list)
        days: dict[str, list[int]] = defaultdict(list)
        for when, _, who, secs in daily:
            accounts[when, who].append(secs)
            days[when].append(secs)
        tops = {key: max(sum(x) for (when, _), x in accounts.items() if when == key) for key in days}
        expected: dict[str, list[tuple[Any, ...]]] = {
            "daily": daily,
            "by_account": sorted((*key, sum(x), len(x)) for key, x in accounts.items()),
            "by_day": sorted((key, len(x), sum(x)) for key, x in days.items()),
            "summary": sorted((key, len(x), tops[key]) for key, x in days.items()),
        }
        found = {name: [row for row in self.rows(name) if row[0] < end] for name in expected}
        wrong = {x: (set(found[x]) ^ set(rows), found[x]) for x, rows in expected.items() if found[x] != rows}
        assert not wrong, wrong


@contextmanager
def pipeline(home: Path) -> Iterator[Pipeline]:
    """A pipeline on an engine of its own, and a Spark that goes with it."""
    database = Database(place_state(home))
    (home / "calve.toml").write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engines, "DEADLINE_S", 400.0)
        with engine_runs(home, database) as calve:
            yield Pipeline(calve)
            host.stop(calve.settings)
    close_ledgers()
    database.close()
