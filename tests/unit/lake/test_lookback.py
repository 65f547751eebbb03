"""What a window of time would read, from metadata alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, HourTransform, IdentityTransform, MonthTransform, Transform
from pyiceberg.types import DateType, IntegerType, LongType, NestedField, StringType, TimestamptzType

from calve.lake import Amount, Lake, Lookback, LookbackAsk, measure_lookback, open_table
from calve.lake import lookback as lookback_module
from calve.lake.lookback import window_text
from calve.lake.storage import load_manifests

pytestmark = pytest.mark.slow
NOW = datetime(2024, 3, 20, 12, tzinfo=UTC)
WINDOW = timedelta(days=2)  # from 2024-03-18 12:00 on
ARROW = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("dateint", pa.int32()),
        pa.field("name", pa.string()),
    ]
)
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "day", DateType()),
    NestedField(3, "at", TimestamptzType()),
    NestedField(4, "dateint", IntegerType()),
    NestedField(5, "name", StringType()),
)


def make(
    lake: Lake, column: int | None = None, transform: Transform[Any, Any] | None = None, metrics: str = "full"
) -> Table:
    fields = [] if column is None or transform is None else [PartitionField(column, 1000, transform, "part")]
    return lake.catalog("lake").create_table(
        "db.t",
        SCHEMA,
        partition_spec=PartitionSpec(*fields),
        properties={"write.metadata.metrics.default": metrics},
    )


def march(*days: int | None) -> pa.Table:
    """A row for noon of each of these days of March 2024; None is a row without any time."""
    moments = [None if day is None else datetime(2024, 3, day, 12, tzinfo=UTC) for day in days]
    rows = [
        {
            "id": 1,
            "day": None if at is None else at.date(),
            "at": at,
            "dateint": None if at is None else int(at.strftime("%Y%m%d")),
            "name": "x",
        }
        for at in moments
    ]
    return pa.Table.from_pylist(rows, schema=ARROW)


def write(table: Table, *days: int | None) -> None:
    """A snapshot with these rows."""
    table.refresh().append(march(*days))


def measure(lake: Lake, column: str | None = None, *range_columns: str) -> Lookback:
    now = int(NOW.timestamp() * 1000)
    return measure_lookback(open_table(lake, "db.t"), "main", LookbackAsk(WINDOW, column), range_columns, now)


@pytest.mark.parametrize("column", ["day", "at", "dateint"])
def test_files_whose_bounds_reach_into_the_window_are_counted(own_lake: Lake, column: str) -> None:
    table = make(own_lake)
    write(table, 1, 17)
    write(table, 17, 18)
    write(table, 20, 20, 30)
    write(table, None)
    found = measure(own_lake, column)
    sizes = {x["record_count"]: x["file_size_in_bytes"] for x in table.refresh().inspect.files().to_pylist()}
    assert found.unknown is None
    assert found.column == column
    assert found.amount is not None
    assert (found.amount.files, found.amount.records) == (2, 5)
    assert found.amount.bytes >= sizes[3]
    assert Lookback.from_json(found.to_json()) == found


@pytest.mark.parametrize("column", [2, 4])
def test_without_bounds_the_partition_tells_where_a_file_lies(own_lake: Lake, column: int) -> None:
    table = make(own_lake, column, IdentityTransform(), metrics="none")
    for day in (1, 18, 20):
        write(table, day)
    found = measure(own_lake)
    assert (found.unknown, found.column) == (None, SCHEMA.find_column_name(column))
    assert found.amount is not None
    assert found.amount.files == 2


@pytest.mark.parametrize(
    ("column", "transform"),
    [
        (2, DayTransform()),
        (2, MonthTransform()),
        (3, HourTransform()),
        (3, DayTransform()),
    ],
)
def test_without_a_column_the_one_behind_a_partition_field_of_time_is_taken(
    own_lake: Lake, column: int, transform: Transform[Any, Any], tmp_path: Path
) -> None:
    table = make(own_lake, column, transform)
    for day in (1, 18, 20):
        pq.write_table(march(day), tmp_path / f"{day}.parquet")
        table.refresh().add_files([str(tmp_path / f"{day}.parquet")])
    found = measure(own_lake)
    assert (found.unknown, found.column) == (None, SCHEMA.find_column_name(column))
    assert found.amount is not None
    assert found.amount.files == 2


def test_manifests_outside_the_window_are_not_opened(own_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(own_lake, 2, IdentityTransform())
    for day in (1, 2, 3, 19):
        write(table, day)
    opened: list[str] = []
    real = load_manifests

    def loading(io: Any, files: Any) -> Any:
        listed = list(files)
        opened.extend(file.path for file in listed)
        return real(io, listed)

    monkeypatch.setattr(lookback_module, "load_manifests", loading)
    assert measure(own_lake).amount is not None
    assert len(opened) == 1


def test_the_first_range_column_stands_in_for_a_column(own_lake: Lake) -> None:
    write(make(own_lake), 19)
    assert measure(own_lake, None, "at", "day").column == "at"


def test_a_table_without_snapshots_has_nothing_to_read(own_lake: Lake) -> None:
    make(own_lake)
    assert measure(own_lake, "day").amount == Amount()


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (None, "not partitioned by a column of time"),
        ("id", "does not tell a time"),
        ("absent", "no column 'absent'"),
        ("day", "no statistics"),
    ],
)
def test_what_cannot_be_told_is_unknown_and_says_why(own_lake: Lake, column: str | None, reason: str) -> None:
    write(make(own_lake, metrics="none"), 19)
    found = measure(own_lake, column)
    assert found.amount is None
    assert found.unknown is not None
    assert reason in found.unknown
    assert found.to_json()["files"] is None


def test_windows_are_told_as_people_write_them() -> None:
    windows = [timedelta(days=14), timedelta(hours=36), timedelta(minutes=5), timedelta(seconds=90)]
    assert [window_text(x) for x in windows] == ["14d", "36h", "5m", "90s"]
