"""Taking a range out of a target: whole partitions by metadata, edges by row, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from calve.backfill.spark.clear import clear
from calve.backfill.spark.targets import BACKFILL_PROPERTY
from calve.errors import NotFoundError, UsageError
from calve.lake.catalogs import Lake
from support.branches import BranchedTable
from support.spark import session_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def hours(spark: SparkSession, lake: Lake, namespace: str) -> BranchedTable:
    """A row for each hour of six days, by day, with a branch."""
    name = f"lake.{namespace}.hours"
    spark.sql(
        f"CREATE TABLE {name} (at TIMESTAMP, day DATE, n DECIMAL(9,2), s STRING) USING iceberg"
        " PARTITIONED BY (days(at)) TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT at, CAST(at AS DATE), hour(at), CONCAT('s', day(at)) FROM (SELECT"
        " explode(sequence(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-06 23:00:00', INTERVAL 1 HOUR)) AS at)"
    )
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH b")
    return BranchedTable(spark, lake, name, "b")


def count(table: BranchedTable, ref: str, where: str = "TRUE") -> int:
    return int(table.one(f"SELECT count(*) FROM {table.side(ref)} WHERE {where}"))


def clear_b(table: BranchedTable, column: str, ranges: list[list[Any]], number: int) -> dict[str, Any]:
    return clear(table.spark, table.name, "b", column, ranges, f"7/clear/0.{number}")


@pytest.mark.slow
def test_whole_days_are_dropped_from_metadata_and_ragged_edges_by_row(hours: BranchedTable) -> None:
    files = hours.files()
    whole = clear_b(hours, "day", [["2024-01-02", "2024-01-03"], ["2024-01-03", "2024-01-04"]], 1)[
        "snapshot_id"
    ]
    summary = hours.summary(whole)
    assert (summary["deleted-data-files"], summary["deleted-records"]) == ("2", "48")
    assert "added-delete-files" not in summary
    assert hours.files() == files
    assert summary[BACKFILL_PROPERTY] == "7/clear/0.1"
    assert (count(hours, "b"), count(hours, "main")) == (96, 144)

    by_time = clear_b(hours, "at", [["2024-01-01", "2024-01-02T00:00:00+00:00"]], 6)["snapshot_id"]
    assert hours.summary(by_time)["deleted-data-files"] == "1"
    assert (hours.files(), count(hours, "b")) == (files, 72)

    # A timestamp that names no zone is in UTC, whatever zone the session is in.
    with session_conf(hours.spark, {"spark.sql.session.timeZone": "America/New_York"}):
        ragged = clear_b(hours, "at", [["2024-01-05T22:00:00", "2024-01-06T03:00:00+00:00"]], 2)
    assert hours.summary(ragged["snapshot_id"])["added-delete-files"] != "0"
    assert count(hours, "b", "at >= '2024-01-05 22:00:00' AND at < '2024-01-06 03:00:00'") == 0
    assert count(hours, "b") == 67

    assert clear_b(hours, "n", [["22.5", None]], 3)["snapshot_id"] == hours.head("b")
    assert count(hours, "b", "n > 22.5") == 0
    assert clear_b(hours, "s", [[None, "s2"]], 4)["snapshot_id"] == hours.head("b")
    assert count(hours, "b", "s < 's2'") == 0
    assert clear_b(hours, "s", [[None, None]], 5)["snapshot_id"] == hours.head("b")
    assert (count(hours, "b"), count(hours, "main")) == (0, 144)


@pytest.mark.slow
def test_a_second_run_finds_the_first_and_leaves_what_was_written_since(hours: BranchedTable) -> None:
    range_ = [["2024-01-02", "2024-01-04"]]
    first = clear_b(hours, "day", range_, 1)
    hours.spark.sql(f"INSERT INTO {hours.side('b')} SELECT * FROM {hours.name} WHERE day = '2024-01-02'")
    assert clear_b(hours, "day", range_, 1) == first
    assert count(hours, "b", "day = '2024-01-02'") == 24
    # The next round is another one.
    with session_conf(hours.spark, {"spark.wap.branch": "elsewhere"}):
        assert clear_b(hours, "day", range_, 2)["snapshot_id"] == hours.head("b")
    assert count(hours, "b", "day = '2024-01-02'") == 0

    nothing = clear_b(hours, "day", [["2031-01-01", "2031-01-02"]], 3)["snapshot_id"]
    assert nothing is None or "deleted-data-files" not in hours.summary(nothing)
    assert clear_b(hours, "day", [], 4) == {"snapshot_id": None}
    assert count(hours, "b") == 96

    direct = clear(hours.spark, hours.name, None, "day", range_, "7/clear/0.9")
    assert direct["snapshot_id"] == hours.head("main")
    assert count(hours, "main") == 96


@pytest.mark.slow
def test_what_is_no_range_of_the_target_is_refused_before_anything_is_deleted(hours: BranchedTable) -> None:
    heads = hours.head("b"), hours.head("main")
    with pytest.raises(UsageError) as wrong:
        clear_b(hours, "day", [["2024-13-01", "2024-01-04"]], 1)
    assert wrong.value.code == "RANGE_INVALID"
    with pytest.raises(UsageError) as unknown:
        clear_b(hours, "dy", [["2024-01-02", "2024-01-04"]], 1)
    assert unknown.value.code == "COLUMN_NOT_FOUND"
    with pytest.raises(NotFoundError) as gone:
        clear(hours.spark, hours.name, "gone", "day", [["2024-01-02", None]], "7/clear/0.1")
    assert gone.value.code == "BRANCH_NOT_FOUND"
    assert heads == (hours.head("b"), hours.head("main"))
