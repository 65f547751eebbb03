"""Calve beside Spark and PyIceberg: the same change of a table that Spark wrote, in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyiceberg.manifest import clear_manifest_cache

from benchmarks.lakes import Bench
from benchmarks.report import Result, Target
from benchmarks.timing import Timing, measure
from calve.lake import Changes, Mode
from calve.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLE = "lake.bench.events"
_BASE_COMMITS, _BASE_FILES = 20, 10
_COMMITS, _FILES = 10, 2
_ROWS = 1_000
_FASTER_THAN_SPARK = Target(">=", 20)
_NOT_SLOWER_THAN_PYICEBERG = Target("<=", 1)


def side_by_side(bench: Bench) -> Iterator[Result]:
    """Each way to the change, and how Calve compares."""
    spark = session(bench.settings, **{"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"})
    try:
        start, end = _write_table(spark)
        yield from _compare(bench, spark, start, end)
    finally:
        spark.stop()


def _write_table(spark: SparkSession) -> tuple[int, int]:
    """A table with a history, and the bounds of its last commits."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
    spark.sql(
        f"CREATE TABLE {_TABLE} (id bigint, at timestamp, name string, value double) "
        "USING iceberg TBLPROPERTIES ('format-version' = '2')"
    )
    for commit in range(_BASE_COMMITS):
        _append(spark, commit, _BASE_FILES)
    start = _head(spark)
    for commit in range(_COMMITS):
        _append(spark, _BASE_COMMITS + commit, _FILES)
    return start, _head(spark)


def _append(spark: SparkSession, commit: int, files: int) -> None:
    first = commit * _BASE_FILES * _ROWS
    rows = spark.range(first, first + files * _ROWS, 1, files)
    rows.selectExpr(
        "id",
        "timestamp_seconds(1700000000 + id) AS at",
        "concat('name-', id % 100) AS name",
        "id / 3 AS value",
    ).writeTo(_TABLE).append()


def _head(spark: SparkSession) -> int:
    newest = spark.sql(f"SELECT snapshot_id FROM {_TABLE}.snapshots ORDER BY committed_at DESC LIMIT 1")
    return int(newest.collect()[0][0])


def _compare(bench: Bench, spark: SparkSession, start: int, end: int) -> Iterator[Result]:
    expected = _COMMITS * _FILES * _ROWS

    def changelog(_: int) -> None:
        spark.sql(
            f"CALL lake.system.create_changelog_view(table => '{_TABLE}', changelog_view => 'changes', "
            f"options => map('start-snapshot-id', '{start}', 'end-snapshot-id', '{end}'))"
        )
        _check(spark.table("changes").count(), expected)

    def incremental(_: int) -> None:
        reader = spark.read.format("iceberg").option("start-snapshot-id", start)
        _check(reader.option("end-snapshot-id", end).load(_TABLE).count(), expected)

    def planned(_: int) -> None:
        table = bench.lake.catalog("lake").load_table("bench.events")
        scan = table.incremental_append_scan(from_snapshot_id_exclusive=start, to_snapshot_id_inclusive=end)
        _check(sum(task.file.record_count for task in scan.plan_files()), expected)

    def planned_afresh(number: int) -> None:
        clear_manifest_cache()
        planned(number)

    def capture(_: int) -> Changes:
        changes = bench.capture(_TABLE, Mode.APPEND, start, end)
        _check(changes.records, expected)
        return changes

    def capture_net(_: int) -> None:
        _check(bench.capture(_TABLE, Mode.NET, start, end).records, expected)

    def capture_and_count(number: int) -> None:
        _check(spark.table(str(capture(number).icdc_table)).count(), expected)

    ways: dict[str, Callable[[int], Any]] = {
        "Spark: create_changelog_view and count": changelog,
        "Spark: incremental append read and count": incremental,
        "PyIceberg: load and incremental_append_scan, planned": planned,
        "PyIceberg: the same, its cache emptied": planned_afresh,
        "Calve: capture, append": capture,
        "Calve: capture, net": capture_net,
        "Calve: capture and Spark's count of the ICDC table": capture_and_count,
    }
    times = {name: measure(way, warm_ups=3) for name, way in ways.items()}
    for name, timing in times.items():
        yield Result("side by side", name, timing.median * 1000, "ms", details=timing.to_json())
    yield from _ratios(*times.values())


def _ratios(
    changelog: Timing, incremental: Timing, planned: Timing, afresh: Timing, capture: Timing, *_: Timing
) -> Iterator[Result]:
    for name, other in (("create_changelog_view", changelog), ("incremental append read", incremental)):
        ratio = other.median / capture.median
        yield Result("side by side", f"faster than Spark's {name}", ratio, "x", _FASTER_THAN_SPARK)
    for name, other in (("plan", planned), ("plan, its cache emptied", afresh)):
        share = capture.median / other.median
        yield Result("side by side", f"time to PyIceberg's {name}", share, "x", _NOT_SLOWER_THAN_PYICEBERG)


def _check(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{found} rows instead of {expected}: the ways do not see the same change")
