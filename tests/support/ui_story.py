"""A lake and workflows that tell a story: late data, a chain of tables, a failure, a loop. No JVM."""

from __future__ import annotations

import random
from datetime import UTC, datetime, time, timedelta
from textwrap import indent
from types import SimpleNamespace
from unittest.mock import patch

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField, StringType, TimestamptzType

from calve.lake.catalogs import Lake

EVENTS, DAILY, SUMMARY = "db.playback", "db.playback_daily", "db.playback_summary"
DAYS = 18
#: The step's own process does what Spark steps do by themselves: it notes what it writes under the capture.
_BEGIN = """\
from calve.ledger.ledger import connect
from calve.ledger.writes import marker_of, note_begun, note_landed
import pyarrow.compute as pc

ledger = connect()
catalog = ledger.lake.catalog("lake")
rows = catalog.load_table(params["changed"].split(".", 1)[1]).scan().to_arrow()
"""
_END = """\
target = catalog.load_table("{target}")
under, statement = params["under"], "write/1"
with ledger.database.write() as connection:
    note_begun(connection, under, statement, "lake.{target}", "{target}")
mark = {{"calve.statement": marker_of(under, statement)}}
target.append(made.cast(target.schema().as_arrow()), snapshot_properties=mark)
with ledger.database.write() as connection:
    note_landed(connection, under, statement, target.current_snapshot().snapshot_id)
ledger.close()
print(f"{{rows.num_rows:,}} rows changed, {{made.num_rows:,}} written")
outputs["rows_written"] = made.num_rows
outputs["newest_day"] = str(pc.max(made["day"]))
"""
_DAILY_WORK = """\
rows = rows.append_column("day", pc.cast(rows["event_time"], "date32"))
made = rows.group_by(["day", "account"]).aggregate([("secs", "sum"), ("id", "count")])
made = made.select(["day", "account", "secs_sum", "id_count"])
made = made.rename_columns(["day", "account", "secs", "plays"])
"""
_SUMMARY_WORK = """\
made = rows.group_by(["day"]).aggregate([("secs", "sum"), ("plays", "sum")])
made = made.select(["day", "secs_sum", "plays_sum"]).rename_columns(["day", "secs", "plays"])
"""
_INCREMENTAL = """\
Trigger: {{incremental: {{tables: [{source}], every: 1s}}}}
Properties: {{owner: ada}}
Workflow:
  id: {id}
  description: Brings what changed in {source} to {target}
  tags: [playback]
  jobs:
    - job: {{id: capture, type: IpCapture, ip_capture: {{source_tables: [{source}], on_empty: skip{more}}}}}
    - job:
        id: write
        type: Python
        changed: ${{capture__icdc_table}}
        under: ${{capture__capture_id}}
        rows_written: 0
        newest_day: ''
        reads: [{source}]
        writes: [{target}]
        code: |
{code}
    - job:
        id: commit
        type: IpCommit
        ip_commit: {{capture_step: capture, valid_through: '${{write__newest_day}}'}}
  dag: sequential
"""
#: Fails until somebody makes the file that it looks for.
FRAGILE = """\
Properties: {owner: bob}
Workflow:
  id: import_titles
  description: Fetches titles from a partner
  tags: [partner]
  marker: /nowhere
  jobs:
    - job:
        id: fetch
        type: Shell
        retry_policy: {error_retry_limit: 0}
        script: |
          echo asking the partner
          test -e ${marker} || { echo the partner gives no answer; exit 3; }
    - job: {id: load, type: Shell, script: "echo loaded"}
  dag: sequential
"""
LOOP = """\
Trigger: {cron: '@daily'}
Properties: {owner: ada}
Workflow:
  id: nightly_report
  description: A report for each region, and one for all
  tags: [report]
  jobs:
    - job: {id: prepare, type: Python, code: "outputs['found'] = 4", found: 0}
    - foreach:
        id: each
        concurrency: 2
        params: {region: [emea, apac, latam, us]}
        jobs:
          - job: {id: report, type: Shell, script: "echo report for $region"}
          - job: {id: send, type: Shell, script: "echo sent"}
        dag: sequential
    - job: {id: nothing, type: NoOp}
    - job: {id: summary, type: Shell, script: "echo all sent"}
  dag:
    - prepare: {IF found > 0: each, OTHERWISE: nothing}
    - each: summary
"""
#: Is at work for a while, and then waits for somebody to say that the ratings are there.
AT_WORK = """\
Properties: {owner: bob}
Workflow:
  id: catalog_sync
  description: Brings the catalog up to date with the partners
  tags: [partner]
  jobs:
    - job: {id: fetch, type: Shell, script: "echo 1204 titles"}
    - job: {id: compare, type: Shell, script: "echo part 1 of 40; sleep 120"}
    - job: {id: ratings, type: NoOp, signal_dependencies: [ratings/ready]}
    - job: {id: publish, type: NoOp}
  dag:
    - fetch: [compare, ratings]
    - compare: publish
    - ratings: publish
"""


def incremental(id: str, source: str, target: str, work: str, more: str = "") -> str:
    """A workflow that brings what changed in one table to another, with a Python step between."""
    code = indent(_BEGIN + work + _END.format(target=target), " " * 10)
    return _INCREMENTAL.format(id=id, source=source, target=target, code=code, more=more)


def definitions() -> list[str]:
    """All workflows of the story, as YAML."""
    lookback = ", range_columns: [event_time], compare_lookback: 14d"
    return [
        incremental("playback_daily", EVENTS, DAILY, _DAILY_WORK, lookback),
        incremental("playback_summary", DAILY, SUMMARY, _SUMMARY_WORK),
        FRAGILE,
        LOOP,
        AT_WORK,
    ]


def make_tables(lake: Lake) -> None:
    """The tables, empty."""
    catalog = lake.catalog("lake")
    catalog.create_namespace_if_not_exists("db")
    events = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "account", StringType()),
        NestedField(3, "title", StringType()),
        NestedField(4, "event_time", TimestamptzType()),
        NestedField(5, "secs", LongType()),
        NestedField(6, "event_day", DateType()),
    )
    by_day = PartitionSpec(PartitionField(6, 1000, IdentityTransform(), "event_day"))
    catalog.create_table(EVENTS, events, partition_spec=by_day)
    daily = [NestedField(1, "day", DateType()), NestedField(2, "account", StringType())]
    sums = [NestedField(3, "secs", LongType()), NestedField(4, "plays", LongType())]
    same_day = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "day"))
    catalog.create_table(DAILY, Schema(*daily, *sums), partition_spec=same_day)
    catalog.create_table(SUMMARY, Schema(daily[0], *sums), partition_spec=same_day)


def arrive(lake: Lake, number: int, rows: int = 400) -> None:
    """The events that came on one of the last days, some of them late, most of these by little."""
    rng = random.Random(number)
    today = datetime.now(UTC).date() - timedelta(days=DAYS - number)
    table = lake.catalog("lake").load_table(EVENTS)
    data = []
    for key in range(rows):
        late = min(int(rng.expovariate(0.35)) + 1, 14) if rng.random() < 0.04 else 0
        moment = datetime.combine(
            today - timedelta(days=late), time(rng.randrange(24), rng.randrange(60)), UTC
        )
        account = f"account_{min(int(rng.paretovariate(1.1)), 60)}"
        data.append(
            {
                "id": number * rows + key,
                "account": account,
                "title": f"title_{min(int(rng.paretovariate(0.8)), 500)}",
                "event_time": moment,
                "secs": rng.randrange(30, 7200),
                "event_day": moment.date(),
            }
        )
    arrival = datetime.combine(today, time(23, 50), UTC)
    with patch("pyiceberg.table.snapshots.time", SimpleNamespace(time=arrival.timestamp)):
        table.append(pa.Table.from_pylist(data, schema=table.schema().as_arrow()))
