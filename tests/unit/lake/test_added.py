"""What a snapshot added, by the time that its rows tell of."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from calve.lake import Lake, default_range_column, open_table
from calve.lake.added import added_by_time
from calve.lake.model import RangeColumn
from calve.lake.time_columns import epoch_ms, first_time_column
from support.late_data import ARROW, FIRST, SCHEMA, add_days, make_daily

DAY = 86_400_000
START = int(FIRST.timestamp() * 1000)


def test_rows_are_counted_by_the_partition_of_their_time(own_lake: Lake, tmp_path: Path) -> None:
    table = make_daily(own_lake)
    add_days(table, tmp_path / "in", {0: 5})
    added = add_days(table, tmp_path / "in", {1: 7, 0: 2})
    source = open_table(own_lake, "db.events")
    column = default_range_column(source.metadata)
    assert column is not None
    found = added_by_time(source, source.metadata.snapshot(added), column)
    assert [(x.from_ms, x.to_ms, x.records, x.files) for x in found] == [
        (START, START + DAY - 1, 2, 1),
        (START + DAY, START + 2 * DAY - 1, 7, 1),
    ]


def test_without_a_partition_the_statistics_of_a_file_tell(own_lake: Lake) -> None:
    table = own_lake.catalog("lake").create_table("db.flat", schema=SCHEMA)
    rows = [{"id": 1, "event_time": FIRST}, {"id": 2, "event_time": FIRST.replace(day=9)}]
    table.append(pa.Table.from_pylist(rows, schema=ARROW))
    table.append(pa.Table.from_pylist([{"id": 3, "event_time": None}], schema=ARROW))
    source = open_table(own_lake, "db.flat")
    column = first_time_column(source.metadata)
    assert column is not None
    assert (column.name, default_range_column(source.metadata)) == ("event_time", None)
    known, unknown = (added_by_time(source, x, column) for x in source.metadata.snapshots())
    assert [tuple(x) for x in known] == [(START, START + 8 * DAY, 2, 1)]
    assert [tuple(x) for x in unknown] == [(None, None, 1, 1)]


@pytest.mark.parametrize(
    ("name", "type_name", "value", "expected"),
    [
        ("day", "date", 19_783, START),
        ("at", "timestamptz", START * 1_000, START),
        ("at", "timestamp_ns", START * 1_000_000 + 999, START),
        ("dateint", "int", 20240301, START),
        ("dateint", "int", 20241399, None),
    ],
)
def test_values_of_time_as_milliseconds(name: str, type_name: str, value: int, expected: int | None) -> None:
    assert epoch_ms(RangeColumn(name, 1, type_name, None), value) == expected


def test_a_table_without_any_time_has_no_column_of_it(own_lake: Lake) -> None:
    own_lake.catalog("lake").create_table("db.plain", schema=pa.schema([("id", pa.int64())]))
    assert first_time_column(open_table(own_lake, "db.plain").metadata) is None
