"""What the demo's own workflows do in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from calve.demo.comparison import Comparison, compare
from calve.demo.files import playback_folder
from calve.demo.playback_source import PlaybackSource
from calve.spark.statements import split_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMESPACE = "playback"
TABLE = f"{NAMESPACE}.playback_table"
DAILY = f"{NAMESPACE}.playback_daily_table"
AGG = f"{NAMESPACE}.playback_daily_agg_table"
IPS_DAILY = f"{NAMESPACE}.ips_playback_daily_table"
IPS_AGG = f"{NAMESPACE}.ips_playback_daily_agg_table"
#: Compared by what it estimates: sketches of the same values may differ in their bytes.
_SKETCH = "viewers"


def _create_tables(spark: SparkSession) -> None:
    """Make the tables, if they are not there yet."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {NAMESPACE}")
    if not spark.catalog.tableExists(TABLE):
        PlaybackSource(TABLE, 1).create(spark)
    for statement in split_statements((playback_folder() / "tables.sql").read_text("utf-8")):
        spark.sql(statement.text)


def bring_events(spark: SparkSession, params: Mapping[str, Any]) -> dict[str, Any]:
    """Append what arrives on each day, one commit a day; how many of the last day's rows are late."""
    source = PlaybackSource(TABLE, params["rows_per_day"], date.fromisoformat(params["first_day"]))
    if params["from_day"] == 0:
        _create_tables(spark)
    for number in range(params["from_day"], params["to_day"] + 1):
        source.arrive(spark, number)
    last = source.day(params["to_day"])
    late = spark.sql(
        f"SELECT count(*) FROM {TABLE} WHERE ingest_ts >= DATE '{last}' AND event_day < DATE '{last}'"
    )
    return {"late_rows": late.collect()[0][0]}


def compare_results(spark: SparkSession, params: Mapping[str, Any]) -> dict[str, Any]:
    """Whether both pairs hold the same rows from a day on; `lost_rows` came too late for the lookback."""
    where = f"event_day >= DATE '{params['from_day']}'"
    daily = _compare(spark, DAILY, IPS_DAILY, where)
    agg = _compare(spark, AGG, IPS_AGG, where)
    older = f"event_day < DATE '{params['from_day']}'"
    lost = spark.table(IPS_DAILY).where(older).count() - spark.table(DAILY).where(older).count()
    return {
        "equal": daily.is_equal and agg.is_equal,
        "daily_rows": daily.right_rows,
        "agg_rows": agg.right_rows,
        "lost_rows": lost,
    }


def _compare(spark: SparkSession, left: str, right: str, where: str) -> Comparison:
    """By all columns that both have; a sketch by what it estimates."""
    known = spark.table(right).columns
    columns = [name for name in spark.table(left).columns if name in known]
    compared = [f"theta_sketch_estimate({name})" if name == _SKETCH else name for name in columns]
    return compare(spark, left, right, compared, "event_day", where)
