"""Tables of days and workflows over them that nobody runs: what plans are made from."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from calve.backfill.acting import PlanBody
from calve.backfill.plan import Plan
from calve.backfill.records import Backfill
from calve.backfill.service import Backfills
from calve.errors import CalveError
from calve.steps.incremental.shared import ledger_of
from support.engine_runs import EngineRuns, Job, flow

SCHEMA = pa.schema([("day", pa.date32()), ("id", pa.int64())])
FIRST = date(2024, 1, 1)


class World:
    """Tables of days, and workflows over them that nobody runs."""

    def __init__(self, calve: EngineRuns) -> None:
        self.calve = calve
        self.backfills = Backfills(calve.calve)
        self.catalog = ledger_of(calve.settings).lake.catalog("lake")
        self.catalog.create_namespace_if_not_exists("db")

    def table(self, name: str, days: int = 0, schema: pa.Schema = SCHEMA) -> Table:
        made = self.catalog.create_table(f"db.{name}", schema=schema)
        with made.update_spec() as update:
            update.add_field("day", IdentityTransform())
        for number in range(days):
            day = FIRST + timedelta(days=number)
            made.append(pa.table({"day": [day] * 10, "id": list(range(10))}, schema=schema))
        return made

    def merges(self, id: str, source: str, target: str, **capture: Any) -> None:
        """A workflow that merges what changed in one table into another."""
        source_rows = "${capture__icdc_table} s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
        self.push(id, f"MERGE INTO db.{target} t USING {source_rows}", [f"db.{source}"], **capture)

    def push(self, id: str, script: str, sources: list[str] = [], **capture: Any) -> None:  # noqa: B006
        jobs: list[Job] = [{"job": {"id": "write", "type": "Sql", "script": script}}]
        if sources:
            section = {"source_tables": sources, **capture}
            jobs = [
                {"job": {"id": "capture", "type": "IpCapture", "ip_capture": section}},
                *jobs,
                {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"capture_step": "capture"}}},
            ]
        self.calve.push(flow(*jobs, id=id, dag="sequential"))

    def plan(
        self, workflow_id: str = "a", lower: str = "2024-01-02", upper: str = "2024-01-04", **more: Any
    ) -> Plan:
        return self.keep(workflow_id, lower, upper, **more).plan

    def keep(self, workflow_id: str, lower: str, upper: str, **more: Any) -> Backfill:
        body = {"workflow_id": workflow_id, "from": lower, "to": upper, **more}
        return self.backfills.plan(PlanBody.model_validate(body).to_request(), "ada")

    def refusal(self, *arguments: str, **more: Any) -> CalveError:
        with pytest.raises(CalveError) as caught:
            self.plan(*arguments, **more)
        assert self.backfills.list_all() == []
        return caught.value
