"""The live rows of a range: what is counted, what is shown, and what the filter leaves of it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable, Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, IntegerType, LongType, NestedField, TimestamptzType

from calve.errors import NotFoundError, UsageError
from calve.lake import (
    Amount,
    Changes,
    Exactness,
    Lake,
    LiveRequest,
    Mode,
    Segment,
    collect_orphans,
    column_bounds,
    default_range_column,
    drop_changes,
    measure_live,
    measure_ranges,
    open_table,
    verify_changes,
    write_live,
)
from calve.lake import live_amounts as amounts_module
from calve.lake.storage import load_manifests

pytestmark = pytest.mark.slow
SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "day", DateType()),
    NestedField(3, "at", TimestamptzType()),
    NestedField(4, "dateint", IntegerType()),
)
ARROW = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("dateint", pa.int32()),
    ]
)


def make(lake: Lake, partitioned: bool = True, metrics: str = "full") -> Table:
    fields = [PartitionField(2, 1000, IdentityTransform(), "day")] if partitioned else []
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
            "id": number,
            "day": at and at.date(),
            "at": at,
            "dateint": at and int(at.strftime("%Y%m%d")),
        }
        for number, at in enumerate(moments)
    ]
    return pa.Table.from_pylist(rows, schema=ARROW)


def request(lower: Any, upper: Any, column: str = "day", **options: Any) -> LiveRequest:
    return LiveRequest(None, column, lower, upper, **options)


def live(lake: Lake, lower: Any, upper: Any, column: str = "day", **options: Any) -> Changes:
    wanted = request(lower, upper, column, **options)
    return write_live(open_table(lake, "db.t"), wanted, lake.settings.icdc)


def shown(changes: Changes) -> list[int | None]:
    """The days of the rows that the table shows, before any filter."""
    table = StaticTable.from_metadata(str(changes.icdc_metadata_location))
    return sorted((x and x.day for x in table.scan().to_arrow()["day"].to_pylist()), key=str)


def test_whole_partitions_are_shown_without_a_filter(own_lake: Lake) -> None:
    table = make(own_lake)
    for day in (1, 2, 3, 3):
        table.append(march(day))
    changes = live(own_lake, "2024-03-02", "2024-03-04")
    assert shown(changes) == [2, 3, 3]
    assert (changes.row_filter, changes.files, changes.records, changes.has_changes) == (None, 3, 3, True)
    head = table.refresh().current_snapshot()
    assert head is not None
    assert (changes.mode, changes.segments) == (Mode.APPEND, (Segment(None, head.snapshot_id),))
    assert changes.partitions == ({"day": "2024-03-02"}, {"day": "2024-03-03"})
    assert Changes.from_json(changes.to_json()) == changes


def test_files_across_an_edge_are_shown_with_a_filter(own_lake: Lake) -> None:
    table = make(own_lake, partitioned=False)
    table.append(march(1, 2))
    table.append(march(2, 3, None))
    table.append(march(4))
    changes = live(own_lake, "2024-03-02", "2024-03-03", range_columns=("day", "dateint"))
    assert shown(changes) == [1, 2, 2, 3, None]
    assert changes.row_filter == "day >= DATE '2024-03-02' AND day < DATE '2024-03-03'"
    day, number = changes.ranges["day"], changes.ranges["dateint"]
    assert (day.lower, day.upper, day.has_null) == ("2024-03-02", "2024-03-02", False)
    assert (number.lower, number.upper, number.has_null) == (20240301, 20240303, True)
    assert {day.exactness, number.exactness} == {Exactness.INEXACT}


@pytest.mark.parametrize("days", [(), (1, None)])
def test_a_range_without_rows_gives_an_empty_table(own_lake: Lake, days: tuple[int | None, ...]) -> None:
    table = make(own_lake)
    if days:
        table.append(march(*days))
    changes = live(own_lake, "2024-03-02", None)
    assert (changes.has_changes, changes.files, changes.row_filter) == (False, 0, None)
    assert shown(changes) == []
    verify_changes(own_lake, changes)


def test_nulls_are_in_no_range(own_lake: Lake) -> None:
    make(own_lake, partitioned=False).append(march(1, None))
    changes = live(own_lake, None, None)
    assert changes.row_filter == "day IS NOT NULL"


def test_files_without_statistics_are_shown_and_filtered(own_lake: Lake) -> None:
    make(own_lake, partitioned=False, metrics="none").append(march(1))
    changes = live(own_lake, "2024-03-02", "2024-03-05", range_columns=("day",))
    assert (changes.files, changes.row_filter is not None) == (1, True)
    assert (changes.ranges["day"].lower, changes.ranges["day"].upper) == ("2024-03-02", "2024-03-04")
    assert changes.warnings == ()
    assert column_bounds(open_table(own_lake, "db.t"), None, "day") is None


def test_a_retry_writes_the_same_table_and_other_bounds_another(own_lake: Lake) -> None:
    make(own_lake).append(march(1, 2))
    first = live(own_lake, "2024-03-01", "2024-03-02")
    assert live(own_lake, "2024-03-01", "2024-03-02") == first
    others = [
        live(own_lake, "2024-03-01", None),
        live(own_lake, None, "2024-03-02"),
        live(own_lake, 20240301, 20240302, "dateint"),
        live(own_lake, "2024-03-01", "2024-03-02", salt="x"),
    ]
    assert len({first.icdc_table, *(other.icdc_table for other in others)}) == 5


def test_tables_are_verified_dropped_and_collected_like_any_other(own_lake: Lake) -> None:
    table = make(own_lake)
    table.append(march(1, 2))
    one, other = live(own_lake, "2024-03-01", "2024-03-02"), live(own_lake, "2024-03-02", "2024-03-03")
    verify_changes(own_lake, one)
    drop_changes(own_lake, one)
    catalog = own_lake.catalog("lake")
    assert not catalog.table_exists(str(one.icdc_table).split(".", 1)[1])
    assert collect_orphans(own_lake, own_lake.settings.icdc, (), timedelta(0)) != []
    assert not catalog.table_exists(str(other.icdc_table).split(".", 1)[1])
    assert table.refresh().scan().to_arrow().num_rows == 2


def test_an_older_state_shows_what_it_held(own_lake: Lake) -> None:
    table = make(own_lake)
    table.append(march(1))
    old = table.refresh().current_snapshot()
    assert old is not None
    table.append(march(1))
    source = open_table(own_lake, "db.t")
    wanted = LiveRequest(old.snapshot_id, "day", "2024-03-01", "2024-03-02")
    assert measure_live(source, wanted).records == 1
    assert measure_live(source, request("2024-03-01", "2024-03-02")).records == 2
    assert shown(write_live(source, wanted, own_lake.settings.icdc)) == [1]


@settings(max_examples=25)
@given(
    edges=st.lists(st.integers(1, 28), min_size=2, max_size=6, unique=True),
    column=st.sampled_from(["day", "at", "dateint"]),
)
def test_all_chunks_are_measured_at_once_as_each_alone(
    edges: list[int], column: str, measured_table: Lake
) -> None:
    table = open_table(measured_table, "db.t")
    texts = [f"2024-03-{day:02d}" for day in sorted(edges)]
    bounds = [(None, texts[0]), *itertools.pairwise(texts), (texts[-1], None)]
    alone = [measure_live(table, request(*pair, column)) for pair in bounds]
    together = measure_ranges(table, None, column, bounds)
    assert together == [Amount(x.files, x.records, x.bytes) for x in alone]


@pytest.mark.parametrize("column", ["day", "at"])
def test_files_of_partitions_are_measured_as_they_are_captured(own_lake: Lake, column: str) -> None:
    table = make(own_lake)
    for days in ((1, 2, 3, None), (3, 3, 7), (2, 7, 28)):
        table.append(march(*days))
    edges = ["2024-03-02", "2024-03-03", "2024-03-06", "2024-03-28"]
    bounds = [(None, edges[0]), *itertools.pairwise(edges), (edges[-1], None)]
    found = measure_ranges(open_table(own_lake, "db.t"), None, column, bounds)
    captured = [live(own_lake, *pair, column) for pair in bounds]
    assert [(x.files, x.records) for x in found] == [(x.files, x.records) for x in captured]
    assert [amount.files for amount in found] == [1, 2, 2, 2, 1]


@pytest.fixture(scope="module")
def measured_table(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A table with files of one day, of several, and of none."""
    from calve.settings import load_settings

    lake = Lake(load_settings(tmp_path_factory.mktemp("measured")))
    lake.catalog("lake").create_namespace("db")
    table = make(lake, partitioned=False)
    for days in ((1, 5), (5,), (9, 20), (None,), (12, None), (28,)):
        table.append(march(*days))
    return lake


def test_bounds_and_the_column_of_time_are_told_by_metadata(own_lake: Lake) -> None:
    table = make(own_lake)
    assert column_bounds(open_table(own_lake, "db.t"), None, "day") is None
    table.append(march(3, 7))
    source = open_table(own_lake, "db.t")
    assert column_bounds(source, None, "day") == ("2024-03-03", "2024-03-07")
    assert column_bounds(source, None, "dateint") == (20240303, 20240307)
    found = default_range_column(source.metadata, "main")
    assert found is not None
    assert (found.name, found.type) == ("day", "date")


def test_only_manifests_that_lie_across_an_edge_are_opened(
    own_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(own_lake)
    for days in ((1,), (2,), (3, 4), (5,)):
        table.append(march(*days))
    opened: list[str] = []
    real = load_manifests

    def loading(io: Any, files: Any, **options: Any) -> Any:
        listed = list(files)
        opened.extend(file.path for file in listed)
        return real(io, listed, **options)

    monkeypatch.setattr(amounts_module, "load_manifests", loading)
    bounds = [("2024-03-02", "2024-03-03"), ("2024-03-04", None)]
    found = measure_ranges(open_table(own_lake, "db.t"), None, "day", bounds)
    assert [(amount.files, amount.records) for amount in found] == [(1, 1), (2, 2)]
    files = table.refresh().inspect.files().to_pylist()
    assert sum(amount.bytes for amount in found) == sum(
        file["file_size_in_bytes"] for file in files if file["partition"]["day"].day in (2, 4, 5)
    )
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("wanted", "kind", "code"),
    [
        (request("soon", None), UsageError, "RANGE_VALUE_INVALID"),
        (request("2024-03-02", "2024-03-01"), UsageError, "RANGE_REVERSED"),
        (request("2024-03-02", "2024-03-02"), UsageError, "RANGE_EMPTY"),
        (request(None, None, "absent"), NotFoundError, "RANGE_COLUMN_NOT_FOUND"),
        (request(None, None, branch="absent"), NotFoundError, "BRANCH_NOT_FOUND"),
        (LiveRequest(5, "day", None, None), NotFoundError, "SNAPSHOT_NOT_FOUND"),
    ],
)
def test_wrong_requests_are_told_and_write_nothing(
    own_lake: Lake, wanted: LiveRequest, kind: type[UsageError], code: str
) -> None:
    make(own_lake).append(march(1))
    source = open_table(own_lake, "db.t")
    for action in (
        lambda: measure_live(source, wanted),
        lambda: write_live(source, wanted, own_lake.settings.icdc),
    ):
        with pytest.raises(kind) as told:
            action()
        assert told.value.code == code
    assert collect_orphans(own_lake, own_lake.settings.icdc, (), timedelta(0)) == []
