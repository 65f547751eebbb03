"""What pages talk about: tables written by PyIceberg, definitions, files. No JVM is needed for any of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField, PrimitiveType, StringType, TimestamptzType

import calve
from calve.cli.main import run
from calve.settings import load_settings
from support.docs.blocks import ROOT
from support.docs.running import World
from support.docs.shell import Way

_FIRST = datetime(2024, 1, 1, 12, tzinfo=UTC)
_EVENT = {"id": int, "day": date, "event_time": datetime, "account": str, "minutes": int, "payload": str}
_DEMO = """\
Workflow:
  id: demo
  date: 20240101
  n: 1
  jobs:
    - job: {id: load, type: Python, code: "outputs['rows'] = 42", rows: 0}
"""
_TYPES: Mapping[type, Callable[[], PrimitiveType]] = {
    int: LongType,
    str: StringType,
    date: DateType,
    datetime: TimestamptzType,
}
_PLAYBACK_DAILY = """\
Workflow:
  id: playback_daily
  jobs:
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.playback], on_empty: skip}}
    - job:
        id: write
        type: Spark
        script: INSERT INTO db.playback_daily SELECT event_id, utc_date, seconds FROM ${capture__icdc_table}
    - job: {id: commit, type: IpCommit, ip_commit: {capture_step: capture}}
  dag: sequential
"""
_PLAYBACK_DAILY_AGG = """\
Workflow:
  id: playback_daily_agg
  jobs:
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.playback_daily], on_empty: skip}}
    - job:
        id: write
        type: IncrementalAggregate
        incremental_aggregate:
          target: db.playback_daily_agg
          keys: [utc_date]
          query: SELECT utc_date, count(*) AS plays FROM db.playback_daily GROUP BY utc_date
    - job: {id: commit, type: IpCommit, ip_commit: {capture_step: capture}}
  dag: sequential
"""


def make_tables(world: World) -> None:
    """`db.events`, with three days in three snapshots, and tables that are made from it."""
    events = _make_events()
    events.manage_snapshots().create_branch(_newest(events), "audited").commit()
    archive = _table("archive.events", _EVENT, by="day")
    _append(archive, [(99, _FIRST.date(), _FIRST, "eve", 1, "{}")])
    _table("db.report", {"day": date, "account": str, "minutes": int}, by="day")
    _table("db.daily", {"day": date, "account": str, "payload": str}, by="day")
    _table("db.orders", {"id": int, "day": date}, by="day")
    world.shell.told["snapshot_id"] = str(_oldest(events))


def take_capture(world: World) -> None:
    """The tables, and an open capture of `db.events`."""
    make_tables(world)
    world.shell.run("calve capture db.events --consumer daily --json")


def commit_capture(world: World) -> None:
    """The capture is processed: nothing is open."""
    world.shell.run("calve commit <capture_id>", Way(fill=True))


def write_demo(world: World) -> None:
    """A workflow in `demo.yaml`."""
    (world.folder / "demo.yaml").write_text(_DEMO, encoding="utf-8")


def make_lookback_tables(world: World) -> None:
    """The tables of a workflow with a lookback window, and of one that reads what it writes."""
    columns = {"day": date, "account_id": int, "title_id": int, "watch_seconds": int}
    days = [datetime.now(UTC).date() - timedelta(days) for days in range(14)]
    _append(_table("db.playback", columns, by="day"), [(day, n, 7, 60) for n, day in enumerate(days)])
    _table("db.playback_daily", columns, by="day")
    _table("db.playback_titles", {"day": date, "title_id": int, "plays": int, "watch_seconds": int}, by="day")


def bring_late_playback(world: World) -> None:
    """A row of today comes to `db.playback`, and one that is later than any window."""
    today = datetime.now(UTC).date()
    _append(_load("db.playback"), [(today, 100, 7, 60), (today - timedelta(18), 101, 7, 60)])


def push_daily(world: World) -> None:
    """The tables, and the workflow in `daily.yaml`, which has processed all there is."""
    make_tables(world)
    world.shell.run("calve push daily.yaml")
    with calve.connect() as ledger:
        ledger.capture("db.events", consumer="daily/capture").commit()


def make_counts(world: World) -> None:
    """`db.events`, and `db.daily` for the number of events of each day."""
    _make_events()
    _table("db.daily", {"day": date, "count": int}, by="day")


def bring_events(world: World) -> None:
    """A fourth day comes to `db.events`. Workflows of the page need not care: it counts as processed."""
    _append(_load("db.events"), _events_of(3))
    with calve.connect() as ledger:
        ledger.capture("db.events", consumer="daily/capture").commit()


def take_net_capture(world: World) -> None:
    """A row of `db.events` goes, another comes, and `capture` is open on that."""
    with calve.connect() as ledger:
        ledger.capture("db.events", consumer="changes").commit()
    _load("db.events").delete("id = 1")
    _append(_load("db.events"), _events_of(4))
    world.names["capture"] = calve.connect().capture("db.events", consumer="changes", mode="net")


def push_pipeline(world: World) -> None:
    """The workflows of the playback examples, and one that makes `db.daily`."""
    daily = ROOT / "docs" / "incremental.md"
    text = next(part for part in daily.read_text(encoding="utf-8").split("```") if part.startswith("yaml"))
    (world.folder / "daily.yaml").write_text(
        text.removeprefix("yaml").replace("demo.daily", "daily"), encoding="utf-8"
    )
    report = _DEMO.replace("id: demo", "id: report").replace("rows: 0}", "reads: [db.daily], rows: 0}")
    (world.folder / "report.yaml").write_text(report, encoding="utf-8")
    examples = [str(file) for file in (ROOT / "examples" / "playback").glob("ips_*.yaml")]
    assert run(["push", "daily.yaml", "report.yaml", *examples, "--json"]) == 0


def make_playback(world: World) -> None:
    """Three months of playback, two workflows that process it, and a first of them that has done so."""
    days = [date(2023, 11, 1) + timedelta(days=number) for number in range(100)]
    playback = _table("db.playback", {"event_id": int, "utc_date": date, "seconds": int}, by="utc_date")
    _append(playback, [(number, day, 60) for number, day in enumerate(days)])
    daily = _table("db.playback_daily", {"event_id": int, "utc_date": date, "seconds": int}, by="utc_date")
    _append(daily, [(number, day, 60) for number, day in enumerate(days)])
    _table("db.playback_daily_agg", {"utc_date": date, "plays": int}, by="utc_date")
    for name, text in (("playback_daily", _PLAYBACK_DAILY), ("playback_daily_agg", _PLAYBACK_DAILY_AGG)):
        (world.folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    assert run(["push", "playback_daily.yaml", "playback_daily_agg.yaml", "--json"]) == 0
    with calve.connect() as ledger:
        ledger.capture("db.playback", consumer="playback_daily/capture").commit()
        ledger.capture("db.playback_daily", consumer="playback_daily_agg/capture").commit()


def change_people(world: World) -> None:
    """`db.people`, of which one row changed and one came, as a net capture; `db.report` has the old ones."""
    spark = world.names["spark"]
    spark.sql("CREATE NAMESPACE lake.db")
    for table in ("people", "report"):
        spark.sql(
            f"CREATE TABLE lake.db.{table} (id INT, name STRING) TBLPROPERTIES ('format-version' = '3')"
        )
        spark.sql(f"INSERT INTO lake.db.{table} VALUES (1, 'ann'), (2, 'bob')")
    _tell(world, "net", "INSERT INTO lake.db.people VALUES (3, 'cem')")


def change_people_again(world: World) -> None:
    """Two further snapshots of `db.people`, as a log capture."""
    capture = _tell(world, "log", "INSERT INTO lake.db.people VALUES (4, 'dan')")
    world.shell.told["snapshot_id"] = str(capture.changes.steps[0].snapshot_id)


def _tell(world: World, mode: str, first: str) -> calve.Capture:
    """Capture two statements on `db.people`, and tell the page of it."""
    spark, ledger = world.names["spark"], calve.connect()
    ledger.capture("db.people", consumer=mode, mode=mode).commit()
    spark.sql(first)
    spark.sql("UPDATE lake.db.people SET name = upper(name) WHERE id = 2")
    capture = ledger.capture("db.people", consumer=mode, mode=mode)
    world.shell.told |= {"icdc_table": str(capture.icdc_table), "row_filter": str(capture.row_filter)}
    return capture


def _make_events() -> Table:
    events = _table("db.events", _EVENT, by="day")
    for number in range(3):
        _append(events, _events_of(number))
    return events


def _load(name: str) -> Table:
    from calve.lake import Lake

    return Lake(load_settings()).catalog("lake").load_table(name)


def _events_of(number: int) -> list[tuple[Any, ...]]:
    """Two events of a day, which is counted from 0."""
    at = _FIRST + timedelta(days=number)
    return [(number, at.date(), at, "ann", 30, "{}"), (number + 10, at.date(), at, "bob", 5, "{}")]


def _table(name: str, columns: Mapping[str, type], by: str) -> Table:
    from calve.lake import Lake

    lake = Lake(load_settings())
    catalog = lake.catalog("lake")
    fields = [NestedField(n, column, _TYPES[kind]()) for n, (column, kind) in enumerate(columns.items(), 1)]
    schema = Schema(*fields)
    spec = PartitionSpec(PartitionField(schema.find_field(by).field_id, 1000, IdentityTransform(), by))
    catalog.create_namespace_if_not_exists(name.partition(".")[0])
    return catalog.create_table(name, schema, partition_spec=spec)


def _append(table: Table, rows: list[tuple[Any, ...]]) -> None:
    names = table.schema().column_names
    made = [dict(zip(names, row, strict=True)) for row in rows]
    table.append(pa.Table.from_pylist(made, schema=table.schema().as_arrow()))


def _newest(table: Table) -> int:
    return table.metadata.snapshots[-1].snapshot_id


def _oldest(table: Table) -> int:
    return table.metadata.snapshots[0].snapshot_id


#: What `setup=` names.
SETUPS: Mapping[str, Callable[[World], None]] = {
    "tables": make_tables,
    "capture": take_capture,
    "commit": commit_capture,
    "demo": write_demo,
    "daily": push_daily,
    "counts": make_counts,
    "more-events": bring_events,
    "net-capture": take_net_capture,
    "people": change_people,
    "people-again": change_people_again,
    "pipeline": push_pipeline,
    "playback": make_playback,
    "lookback": make_lookback_tables,
    "late-playback": bring_late_playback,
}
