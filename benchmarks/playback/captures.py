"""The same change, the last day's, found by Calve, by Spark's own ways, and by a stream."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.playback.site import Site

_REPEATS = 3


@dataclass(frozen=True)
class Found:
    """How long a way to the change takes, and how many rows it found."""

    way: str
    seconds: float
    rows: int

    def to_json(self) -> dict[str, Any]:
        """The figure for the results file."""
        return {"way": self.way, "seconds": round(self.seconds, 4), "rows": self.rows}


def compare_captures(site: Site, day: int) -> Iterator[Found]:
    """Each way to the rows that arrived on a day, which has to be the last that arrived."""
    start, end = site.snapshots[day - 1], site.snapshots[day]
    table, spark = site.source.table, site.spark

    def capture() -> int:
        taken = site.ledger.capture(table, consumer=site.consumer(), start_from=start)
        rows = int(taken.records)
        taken.release()
        return rows

    def capture_and_count() -> int:
        taken = site.ledger.capture(table, consumer=site.consumer(), start_from=start)
        rows = int(spark.table(str(taken.icdc_table)).selectExpr("count(event_id)").collect()[0][0])
        taken.release()
        return rows

    def incremental_read() -> int:
        reader = spark.read.format("iceberg").option("start-snapshot-id", start)
        rows = reader.option("end-snapshot-id", end).load(table).selectExpr("count(event_id)").collect()
        return int(rows[0][0])

    def changelog_view() -> int:
        spark.sql(
            f"CALL lake.system.create_changelog_view(table => '{table}', changelog_view => 'changes', "
            f"options => map('start-snapshot-id', '{start}', 'end-snapshot-id', '{end}'))"
        )
        return int(spark.table("changes").selectExpr("count(event_id)").collect()[0][0])

    def stream() -> int:
        return _stream(site, start)

    yield _time("Calve: capture (no data file is read)", capture)
    yield _time("Calve: capture, and Spark's count of the ids in the ICDC table", capture_and_count)
    yield _time("Spark: incremental read and count of the ids", incremental_read)
    yield _time("Spark: Structured Streaming availableNow and count of the ids", stream)
    yield _time("Spark: create_changelog_view and count of the ids", changelog_view, 1)


def _time(way: str, run: Callable[[], int], repeats: int = _REPEATS) -> Found:
    if repeats > 1:
        run()
    seconds, rows = [], 0
    for _ in range(repeats):
        start = time.perf_counter()
        rows = run()
        seconds.append(time.perf_counter() - start)
    return Found(way, statistics.median(seconds), rows)


def _stream(site: Site, start: int) -> int:
    """The rows after a snapshot, by a stream with a checkpoint of its own."""
    found: list[int] = []
    snapshots = f"{site.source.table}.snapshots"
    moment = site.spark.sql(
        f"SELECT 1 + unix_millis(committed_at) FROM {snapshots} WHERE snapshot_id = {start}"
    ).collect()[0][0]
    with tempfile.TemporaryDirectory() as folder:
        rows = site.spark.readStream.format("iceberg").option("stream-from-timestamp", str(moment))
        writer = rows.load(site.source.table).writeStream.option("checkpointLocation", folder)
        counted = writer.foreachBatch(
            lambda batch, _: found.append(int(batch.selectExpr("count(event_id)").collect()[0][0]))
        )
        counted.trigger(availableNow=True).start().awaitTermination()
    return sum(found)
