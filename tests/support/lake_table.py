"""A table under test: written by Spark, captured by Calve, and its rows read back as multisets."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import text

from calve.lake import (
    ChangeRequest,
    Changes,
    Lake,
    Mode,
    Segment,
    SourceTable,
    open_table,
    plan_changes,
    write_changes,
)
from calve.lake.storage import read_json, write_bytes
from calve.settings import IcdcSettings
from support.iceberg_java import JavaTable
from support.spark import session_conf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows: TypeAlias = "Counter[Any]"

MERGE_ON_READ = {f"write_{kind}_mode": "merge-on-read" for kind in ("delete", "update", "merge")}


def property_name(keyword: str) -> str:
    """`write_delete_mode` is `write.delete.mode`, and two underscores are a hyphen."""
    return keyword.replace("__", "-").replace("_", ".")


def plain(value: Any) -> Any:
    """A value of a Spark row in a form that can be counted: NaN equals NaN, maps and lists are tuples."""
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, Mapping):
        return tuple(sorted((plain(k), plain(v)) for k, v in value.items()))
    if isinstance(value, list | tuple):
        return tuple(plain(item) for item in value)
    return bytes(value) if isinstance(value, bytearray) else value


def count_rows(frame: DataFrame) -> Rows:
    """The rows of a DataFrame, each with how often it comes."""
    return Counter(plain(tuple(row)) for row in frame.collect())


def read_table(spark: SparkSession, metadata_location: str, snapshot_id: int | None = None) -> DataFrame:
    """A table by the path of its metadata, without any catalog."""
    reader = spark.read.format("iceberg")
    if snapshot_id is not None:
        reader = reader.option("versionAsOf", snapshot_id)
    return reader.load(metadata_location)


class LakeTable:
    """One table. `str()` is its full name, so that it can stand in SQL."""

    def __init__(self, spark: SparkSession, lake: Lake, name: str) -> None:
        self.spark = spark
        self.lake = lake
        self.name = name
        self.java = JavaTable(spark, name)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def create(
        cls,
        spark: SparkSession,
        lake: Lake,
        name: str,
        columns: str = "id bigint, name string",
        partitioned_by: str = "",
        format_version: int = 2,
        **properties: str,
    ) -> LakeTable:
        """A new, empty table; see `property_name` for the properties."""
        given = {property_name(key): value for key, value in properties.items()}
        listed = {"format-version": str(format_version), **given}
        options = ", ".join(f"'{key}'='{value}'" for key, value in listed.items())
        partition = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        spark.sql(f"CREATE TABLE {name} ({columns}) USING iceberg {partition} TBLPROPERTIES ({options})")
        return cls(spark, lake, name)

    # Writing

    def sql(self, statement: str) -> DataFrame:
        """Run a statement in Spark."""
        return self.spark.sql(statement)

    def insert(self, *rows: str) -> int:
        """Append rows in one file per partition, and give the snapshot."""
        self.sql(f"INSERT INTO {self} SELECT /*+ COALESCE(1) */ * FROM VALUES {', '.join(rows)}")
        return self.head

    def set(self, **properties: str) -> None:
        """Set table properties; see `property_name`."""
        given = ", ".join(f"'{property_name(key)}'='{value}'" for key, value in properties.items())
        self.sql(f"ALTER TABLE {self} SET TBLPROPERTIES ({given})")

    def call(self, procedure: str, arguments: str = "") -> Any:
        """Call one of Iceberg's procedures on the table."""
        catalog, rest = self.name.split(".", 1)
        given = f", {arguments}" if arguments else ""
        return self.sql(f"CALL {catalog}.system.{procedure}(table => '{rest}'{given})").collect()

    def compact(self) -> None:
        """Rewrite all data files."""
        self.call("rewrite_data_files", "options => map('rewrite-all', 'true')")

    # History

    @property
    def source(self) -> SourceTable:
        """The table as Calve sees it now."""
        return open_table(self.lake, self.name)

    @property
    def head(self) -> int:
        """The current snapshot."""
        current = self.source.metadata.current_snapshot_id()
        assert current is not None
        return current

    @property
    def snapshot_ids(self) -> list[int]:
        """All snapshots that are there, also those of branches and rolled back ones."""
        return [raw["snapshot-id"] for raw in self.source.metadata.raw.get("snapshots") or ()]

    # Capturing

    def capture(
        self, mode: Mode, start: int | None, end: int | None = None, settings: Any = None, **options: Any
    ) -> Changes:
        """Capture up to `end`, by default the current snapshot."""
        source = self.source
        last = source.metadata.current_snapshot_id() if end is None else end
        request = ChangeRequest(mode, (Segment(start, last),), **options)
        return write_changes(plan_changes(source, request), settings or IcdcSettings())

    def net(self, start: int | None, end: int | None = None, **options: Any) -> Changes:
        """Capture the difference of two states."""
        return self.capture(Mode.NET, start, end, **options)

    def appended(self, start: int | None, end: int | None = None, **options: Any) -> Changes:
        """Capture what appends added."""
        return self.capture(Mode.APPEND, start, end, **options)

    def with_metadata(self, change: Callable[[dict[str, Any]], None]) -> LakeTable:
        """The same table with its metadata changed by hand, in ways that no writer offers."""
        source = self.source
        raw = read_json(source.io, source.metadata.metadata_location)
        change(raw)
        location = f"{source.metadata.location}/metadata/changed.metadata.json"
        write_bytes(source.io, location, json.dumps(raw).encode())
        update = text(
            "UPDATE iceberg_tables SET metadata_location = :location"
            " WHERE table_namespace = :namespace AND table_name = :name"
        )
        _, namespace, name = self.name.split(".")
        catalog: Any = self.lake.catalog("lake")
        with catalog.engine.begin() as connection:
            connection.execute(update, {"location": location, "namespace": namespace, "name": name})
        return self

    # Reading

    def rows(self, snapshot_id: int | None = None) -> Rows:
        """The rows of a snapshot, by Spark's own time travel."""
        version = f" VERSION AS OF {snapshot_id}" if snapshot_id is not None else ""
        return count_rows(self.sql(f"SELECT * FROM {self}{version}"))

    def after(self, changes: Changes) -> Rows:
        """The rows that the ICDC table shows."""
        assert changes.icdc_metadata_location is not None
        return count_rows(read_table(self.spark, changes.icdc_metadata_location))

    def before(self, changes: Changes) -> Rows:
        """The rows that the table of removed rows shows; none if there is no such table."""
        if changes.removed_metadata_location is None:
            return Counter()
        return count_rows(read_table(self.spark, changes.removed_metadata_location))

    def difference(self, changes: Changes) -> tuple[Rows, Rows]:
        """The rows that came and the rows that went, carried ones cancelled."""
        after, before = self.after(changes), self.before(changes)
        return after - before, before - after

    def check_net(self, start: int | None, end: int | None = None, **options: Any) -> Changes:
        """Capture in mode net, and compare with what time travel says of the two states."""
        last = self.head if end is None else end
        changes = self.net(start, last, **options)
        old: Rows = Counter() if start is None else self.rows(start)
        new = self.rows(last)
        assert self.difference(changes) == (new - old, old - new)
        return changes


class SchemaView:
    """Reads any snapshot of a table with the columns of any of its schemas, found by their ids.

    Time travel reads a snapshot with its own schema. To compare two states over an evolved schema
    both have to be read with one, and the only honest way is to let Iceberg do it: a copy of the
    metadata file, in which the snapshot is current and has that schema.
    """

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self._spark = spark
        self._io = lake.catalog("lake")._load_file_io()
        self._folder = Path(tempfile.mkdtemp(prefix="views-", dir=lake.settings.home))
        self._made = 0

    def frame(self, metadata_location: str, snapshot_id: int, schema_id: int) -> DataFrame:
        """The rows of the snapshot, as columns of the schema."""
        raw = read_json(self._io, metadata_location)
        snapshot = next(s for s in raw["snapshots"] if s["snapshot-id"] == snapshot_id)
        shown = {k: v for k, v in snapshot.items() if k != "parent-snapshot-id"} | {"schema-id": schema_id}
        raw |= {
            "current-schema-id": schema_id,
            "current-snapshot-id": snapshot_id,
            "snapshots": [shown],
            "refs": {"main": {"snapshot-id": snapshot_id, "type": "branch"}},
            "snapshot-log": [],
            "statistics": [],
            "partition-statistics": [],
        }
        if "schema" in raw:
            raw["schema"] = next(s for s in raw["schemas"] if s["schema-id"] == schema_id)
        self._made += 1
        location = f"file://{self._folder}/v{self._made}.metadata.json"
        write_bytes(self._io, location, json.dumps(raw).encode())
        return self._spark.read.format("iceberg").load(location)


def read_many(spark: SparkSession, frames: Mapping[Any, DataFrame]) -> dict[Any, Rows]:
    """The rows of many small DataFrames, as texts, in few Spark jobs: these are what costs."""
    found: dict[Any, Rows] = {key: Counter() for key in frames}
    keys = list(frames)
    with session_conf(spark, _INTERPRETED):
        for start in range(0, len(keys), _FRAMES_PER_JOB):
            numbered = range(start, min(start + _FRAMES_PER_JOB, len(keys)))
            queries = [_packed(frames[keys[at]], at) for at in numbered]
            for row in spark.sql(" UNION ALL ".join(queries)).collect():
                found[keys[row.at]][tuple(row.packed)] += 1
    return found


_FRAMES_PER_JOB = 12
# To compile a plan takes far longer than to run it over a handful of rows.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def _packed(frame: DataFrame, at: int) -> str:
    """A query for one column of texts per row, so that frames of any schema can stand under each other."""
    frame.createOrReplaceTempView(f"packed_{at}")
    values = ", ".join(f"string(`{name}`)" for name in frame.columns)
    return f"SELECT {at} AS at, array({values}) AS packed FROM packed_{at}"
