"""The lake to measure on: a source whose days arrive when they are told to, and fresh target tables.

Making the data takes longer than processing it, so a source that was made once is used again: its days are
snapshots, and a day arrives by making its snapshot the current one.
"""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

import calve
from benchmarks.playback import queries
from benchmarks.playback.metering import Meter
from calve.demo.playback_source import PlaybackSource
from calve.ledger.ledger import Ledger
from calve.settings import load_settings
from calve.spark.session import session

#: Days that a lookback reads.
WINDOW = 14
#: Changes whenever the data does, so that no older source is taken for it.
_DATA_VERSION = 2
_CONF = {
    "spark.master": "local[2]",
    "spark.driver.memory": "6g",
    "spark.sql.shuffle.partitions": "16",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
}


@dataclass(frozen=True)
class Site:
    """A lake with the source's days as snapshots, and a Spark on it."""

    spark: SparkSession
    meter: Meter
    ledger: Ledger
    source: PlaybackSource
    snapshots: list[int]
    _numbers: Iterator[int]

    def arrive(self, day: int) -> None:
        """Make the source what it was at the end of a day."""
        self._call("set_current_snapshot", self.source.table, self.snapshots[day])

    def window(self, day: int) -> tuple[str, str]:
        """The first and the last day that a lookback reads at the end of a day."""
        return str(self.source.day(day - WINDOW + 1)), str(self.source.day(day))

    def head(self, table: str) -> int:
        """The current snapshot of a table."""
        rows = self.spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").collect()
        return int(rows[0][0])

    def roll_back(self, table: str, snapshot: int) -> None:
        """Undo all that was done to a table since a snapshot."""
        self._call("set_current_snapshot", table, snapshot)

    def set_properties(self, table: str, **properties: str) -> None:
        """Set properties of a table; `_` stands for `-` in their names, `__` for a dot."""
        listed = ", ".join(
            f"'{name.replace('__', '.').replace('_', '-')}' = '{value}'" for name, value in properties.items()
        )
        self.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({listed})")

    def consumer(self) -> str:
        """A consumer that has not been there before."""
        return f"bench-{time.time_ns()}-{next(self._numbers)}"

    def create_targets(self) -> None:
        """Make all target tables anew."""
        for table in (queries.DAILY, queries.DAILY_AGG, queries.IPS_DAILY, queries.IPS_DAILY_AGG):
            self.spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
        for statement in queries.create_tables():
            self.spark.sql(statement)

    def _call(self, procedure: str, table: str, snapshot: int) -> None:
        name = table.removeprefix("lake.")
        self.spark.sql(f"CALL lake.system.{procedure}('{name}', {snapshot})")


@contextmanager
def open_site(folder: Path, rows_per_day: int, days: int) -> Iterator[Site]:
    """A site with a source of that size, made if it is not there yet."""
    home = folder / f"playback-{rows_per_day}-{days}-v{_DATA_VERSION}"
    snapshots = home / "days.json"
    if not snapshots.exists():
        shutil.rmtree(home, ignore_errors=True)
    settings = load_settings(home)
    spark = session(settings, **_CONF)
    try:
        spark.sparkContext.setLogLevel("ERROR")
        source = PlaybackSource(f"lake.{queries.SOURCE}", rows_per_day)
        if not snapshots.exists():
            snapshots.write_text(json.dumps(_make(spark, source, days)))
        known = json.loads(snapshots.read_text())
        yield Site(spark, Meter(spark), calve.connect(home), source, known, itertools.count())
    finally:
        spark.stop()


def _make(spark: SparkSession, source: PlaybackSource, days: int) -> list[int]:
    """The source's snapshots, one a day."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.playback")
    source.create(spark)
    for day in range(days):
        start = time.perf_counter()
        source.arrive(spark, day)
        print(f"made day {day + 1} of {days} in {time.perf_counter() - start:.1f} s", flush=True)
    rows = spark.sql(f"SELECT snapshot_id FROM {source.table}.snapshots ORDER BY committed_at").collect()
    return [int(row[0]) for row in rows]
