"""A table partitioned by the day of its events, some of them late. No JVM: files are added as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform
from pyiceberg.types import LongType, NestedField, TimestamptzType
from sqlalchemy import text

from calve.lake import Lake, open_table
from calve.lake.storage import read_json, write_bytes
from support.ledgers import head

SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "event_time", TimestamptzType()))
ARROW = pa.schema([("id", pa.int64()), ("event_time", pa.timestamp("us", "UTC"))])
BY_DAY = PartitionSpec(PartitionField(2, 1000, DayTransform(), "event_day"))
FIRST = datetime(2024, 3, 1, tzinfo=UTC)


def make_daily(lake: Lake, name: str = "db.events") -> Table:
    """A new table that is partitioned by day."""
    catalog = lake.catalog("lake")
    catalog.create_namespace_if_not_exists("db")
    return catalog.create_table(name, schema=SCHEMA, partition_spec=BY_DAY)


def add_days(table: Table, folder: Path, rows_by_day: Mapping[int, int]) -> int:
    """One snapshot with so many rows of each day, counted from the first of March; its id."""
    files = []
    for day, rows in rows_by_day.items():
        at = FIRST + timedelta(days=day, hours=6)
        made = pa.Table.from_pylist([{"id": x, "event_time": at} for x in range(rows)], schema=ARROW)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{len(list(folder.iterdir()))}.parquet"
        pq.write_table(made, file)
        files.append(str(file))
    table.refresh().add_files(files)
    return head(table)


def stamp(lake: Lake, name: str, days: Mapping[int, float]) -> None:
    """Have snapshots be of other times than now: snapshot → days from the first of March."""
    source = open_table(lake, name)
    raw = read_json(source.io, source.metadata.metadata_location)
    for entry in (*raw["snapshots"], *raw["snapshot-log"]):
        if entry["snapshot-id"] in days:
            at = FIRST + timedelta(days=days[entry["snapshot-id"]])
            entry["timestamp-ms"] = int(at.timestamp() * 1000)
    location = f"{source.metadata.location}/metadata/99999-stamped.metadata.json"
    write_bytes(source.io, location, json.dumps(raw).encode())
    catalog: Any = lake.catalog("lake")
    with catalog.engine.begin() as connection:
        connection.execute(
            text("UPDATE iceberg_tables SET metadata_location = :location WHERE table_name = :name"),
            {"location": location, "name": name.rsplit(".", maxsplit=1)[-1]},
        )
