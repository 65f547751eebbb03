"""An ICDC table is an ordinary Iceberg table: every reader sees the same rows in it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest

from calve.lake import Changes
from support.lake_table import MERGE_ON_READ, LakeTable, read_table

from .conftest import MakeTable

Reader = Callable[[LakeTable, Changes], list[tuple[Any, ...]]]


def by_spark_name(table: LakeTable, changes: Changes) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in table.sql(f"SELECT id, name FROM {changes.icdc_table}").collect()]


def by_spark_path(table: LakeTable, changes: Changes) -> list[tuple[Any, ...]]:
    frame = read_table(table.spark, str(changes.icdc_metadata_location))
    return [tuple(row) for row in frame.select("id", "name").collect()]


def by_pyiceberg(table: LakeTable, changes: Changes) -> list[tuple[Any, ...]]:
    identifier = str(changes.icdc_table).split(".", 1)[1]
    return arrow_rows(table.lake.catalog("lake").load_table(identifier).scan().to_arrow())


def by_pyiceberg_path(table: LakeTable, changes: Changes) -> list[tuple[Any, ...]]:
    from pyiceberg.table import StaticTable

    return arrow_rows(StaticTable.from_metadata(str(changes.icdc_metadata_location)).scan().to_arrow())


def by_polars(table: LakeTable, changes: Changes) -> list[tuple[Any, ...]]:
    import polars

    frame = polars.scan_iceberg(str(changes.icdc_metadata_location)).select("id", "name").collect()
    return list(frame.rows())


def by_daft(table: LakeTable, changes: Changes) -> list[tuple[Any, ...]]:
    import daft

    return arrow_rows(daft.read_iceberg(str(changes.icdc_metadata_location)).select("id", "name").to_arrow())


def by_duckdb(table: LakeTable, changes: Changes) -> list[tuple[Any, ...]]:
    import duckdb

    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "iceberg"):
        (package,) = resources.files(f"duckdb_extension_{name}").joinpath("extensions").iterdir()
        connection.execute(f"LOAD '{package.joinpath(f'{name}.duckdb_extension')}'")
    location = str(changes.icdc_metadata_location).removeprefix("file://")
    return list(connection.sql(f"SELECT id, name FROM iceberg_scan('{location}')").fetchall())


def arrow_rows(found: Any) -> list[tuple[Any, ...]]:
    return list(zip(found["id"].to_pylist(), found["name"].to_pylist(), strict=True))


READERS = [
    by_spark_name,
    by_spark_path,
    by_pyiceberg,
    by_pyiceberg_path,
    by_polars,
    by_daft,
    by_duckdb,
]


@pytest.fixture
def changed(make_table: MakeTable) -> tuple[LakeTable, int]:
    """A table with appends, a spec change and row deletes after a start, and that start."""
    table = make_table(**MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')", "(3, 'c')")
    table.insert("(4, 'd')", "(5, 'e')")
    table.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    table.insert("(6, 'f')", "(7, NULL)")
    return table, start


def test_all_readers_see_the_appended_rows(changed: tuple[LakeTable, int]) -> None:
    table, start = changed
    changes = table.appended(start)

    expected = [(4, "d"), (5, "e"), (6, "f"), (7, None)]
    assert {reader.__name__: sorted(reader(table, changes)) for reader in READERS} == {
        reader.__name__: expected for reader in READERS
    }


def test_all_readers_apply_position_deletes(changed: tuple[LakeTable, int]) -> None:
    table, start = changed
    table.sql(f"DELETE FROM {table} WHERE id IN (2, 4)")
    changes = table.check_net(start)

    expected = [(1, "a"), (3, "c"), (5, "e"), (6, "f"), (7, None)]
    assert {reader.__name__: sorted(reader(table, changes)) for reader in READERS} == {
        reader.__name__: expected for reader in READERS
    }


def test_dropped_columns_stay_dropped_for_all_readers(make_table: MakeTable) -> None:
    table = make_table("gone string, id bigint, name string")
    table.insert("('x', 1, 'a')")
    table.sql(f"ALTER TABLE {table} DROP COLUMN gone")
    table.insert("(2, 'b')")
    changes = table.net(None)

    # Daft 0.7 cannot decode such a file in the source table either.
    readers = [reader for reader in READERS if reader is not by_daft]

    assert {reader.__name__: sorted(reader(table, changes)) for reader in readers} == {
        reader.__name__: [(1, "a"), (2, "b")] for reader in readers
    }


def test_format_3_is_read_by_spark_and_pyiceberg(make_table: MakeTable) -> None:
    table = make_table(format_version=3, **MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')", "(3, 'c')")
    table.insert("(4, 'd')")
    table.sql(f"DELETE FROM {table} WHERE id = 2")
    changes = table.check_net(start)
    readers = [by_spark_name, by_spark_path, by_pyiceberg, by_pyiceberg_path]

    assert {reader.__name__: sorted(reader(table, changes)) for reader in readers} == {
        reader.__name__: [(1, "a"), (3, "c"), (4, "d")] for reader in readers
    }
