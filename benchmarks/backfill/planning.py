"""How long it takes to plan a backfill of a table with many files, from metadata alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from typing import Any

import pyarrow as pa

from benchmarks.backfill.site import Site
from benchmarks.report import Result, Target
from benchmarks.tables import FIRST_DAY, Group, TableBuilder
from benchmarks.timing import measure
from calve.backfill.acting import PlanBody
from calve.backfill.lineage.loading import load_lineage
from calve.backfill.planning.cautions import with_cautions
from calve.backfill.planning.planner import Planner

_PART = "planning"
_FILES_PER_DAY = 1000
_GOAL = Target("<", 1000)
_REPEATS = 5


def planning(site: Site, files: int) -> Iterator[Result]:
    """Plans for a table whose manifests were written day by day, and for one whose were merged since."""
    days = -(-files // _FILES_PER_DAY)
    for name, told, build in (
        ("daily", "a manifest a day", partial(_by_day, days=days)),
        ("merged", "merged manifests, of many days each", partial(_merged, files=files)),
    ):
        table = TableBuilder(site.backfills.ledger.lake, name, files_per_day=_FILES_PER_DAY)
        build(table)
        table.register()
        _push(site, name)
        for range_, first, last in (("3 days", days // 2, days // 2 + 3), ("all days", 0, days)):
            for chunk in ("day", "200files"):
                yield _plan(site, name, f"{range_} by {chunk}, {told}", first, last, chunk, files)


def _by_day(table: TableBuilder, days: int) -> None:
    for _ in range(days):
        table.append(_FILES_PER_DAY)


def _merged(table: TableBuilder, files: int) -> None:
    """Manifests of half a day each, put together as Iceberg does when there are many."""
    table.append(files, per_manifest=_FILES_PER_DAY // 2)
    batches = list(table.batches)
    size = 16
    groups = [tuple(batches[at : at + size]) for at in range(0, len(batches), size)]
    table.commit([Group(range(0), group) for group in groups])


def _push(site: Site, name: str) -> None:
    """A workflow that reads the table and writes another one."""
    lake = site.backfills.ledger.lake.catalog("lake")
    lake.create_table(f"bench.{name}_target", pa.schema([("at", pa.timestamp("us"))]))
    capture = {"source_tables": [f"bench.{name}"]}
    script = f"INSERT INTO bench.{name}_target SELECT at FROM ${{capture__icdc_table}}"
    jobs = [
        {"job": {"id": "capture", "type": "IpCapture", "ip_capture": capture}},
        {"job": {"id": "write", "type": "Sql", "script": script}},
        {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"capture_step": "capture"}}},
    ]
    site.push({"id": name, "owner": "bench", "jobs": jobs, "dag": "sequential"})


def _plan(site: Site, name: str, case: str, first: int, last: int, chunk: str, files: int) -> Result:
    """As `calve backfill plan` does, but for keeping the plan."""
    body = PlanBody.model_validate(
        {"workflow_id": name, "from": _moment(first), "to": _moment(last), "chunk": chunk}
    )
    ledger = site.backfills.ledger
    plans: list[Any] = []

    def run(_: int) -> None:
        with ledger.database.read() as connection:
            lineage = load_lineage(connection, ledger.settings)
        plans.append(with_cautions(ledger, Planner(ledger, lineage).plan(body.to_request())))

    timing = measure(run, repeats=_REPEATS, warm_ups=1)
    stage = plans[-1].stages[0]
    expected = (last - first) * _FILES_PER_DAY
    if stage.files != expected:
        raise RuntimeError(f"the plan has {stage.files} files, expected {expected}")
    details = {**timing.to_json(), "chunks": len(stage.chunks), "files": stage.files}
    case = f"{case}: {files:,} files"
    return Result(_PART, case, timing.median * 1000, "ms", _GOAL, details)


def _moment(number: int) -> str:
    return (date(1970, 1, 1) + timedelta(days=FIRST_DAY + number)).isoformat()
