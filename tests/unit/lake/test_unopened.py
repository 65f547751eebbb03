"""What a capture reads: manifests stay closed where the manifest list tells all that is asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable, Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField

from calve.errors import CorruptError
from calve.lake import Lake, Mode

from .conftest import Capture

pytestmark = pytest.mark.slow


@pytest.fixture
def table(own_lake: Lake) -> Table:
    """Partitioned by `part`."""
    schema = Schema(NestedField(1, "part", LongType()), NestedField(2, "id", LongType()))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "part"))
    return own_lake.catalog("lake").create_table("db.t", schema, partition_spec=spec)


def append(table: Table, *parts: int | None) -> int:
    """A row for each partition; gives the snapshot."""
    table.append(
        pa.table({"part": pa.array(parts, pa.int64()), "id": pa.array(range(len(parts)), pa.int64())})
    )
    return snapshot_id(table)


def snapshot_id(table: Table) -> int:
    snapshot = table.refresh().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def lose_new_manifests(table: Table) -> None:
    """Remove the manifests of the newest snapshot, so that opening one fails."""
    snapshot = table.refresh().current_snapshot()
    assert snapshot is not None
    for manifest in snapshot.manifests(table.io):
        if manifest.added_snapshot_id == snapshot.snapshot_id:
            Path(manifest.manifest_path.removeprefix("file://")).unlink()


@pytest.mark.parametrize("parts", [(7,), (7, 8, 9), (7, None), (-1, 0, 1, None)])
@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.NET])
def test_partitions_without_a_gap_are_told_without_opening_a_manifest(
    table: Table, capture: Capture, mode: Mode, parts: tuple[int | None, ...]
) -> None:
    start = append(table, 1)
    end = append(table, *parts)
    lose_new_manifests(table)
    changes = capture("db.t", mode, start, end)
    assert (changes.files, changes.records) == (len(parts), len(parts))
    assert {partition["part"] for partition in changes.partitions} == set(parts)


def test_partitions_with_a_gap_are_looked_up_in_the_manifests(table: Table, capture: Capture) -> None:
    start = append(table, 1)
    end = append(table, 2, 5, 6)
    changes = capture("db.t", Mode.APPEND, start, end)
    assert [partition["part"] for partition in changes.partitions] == [2, 5, 6]
    lose_new_manifests(table)
    with pytest.raises(CorruptError):
        capture("db.t", Mode.APPEND, start, end, salt="again")


def test_several_appends_are_judged_one_by_one(table: Table, capture: Capture) -> None:
    start = append(table, 1)
    append(table, 2, 4)
    end = append(table, 10, 11)
    changes = capture("db.t", Mode.APPEND, start, end)
    assert {partition["part"] for partition in changes.partitions} == {2, 4, 10, 11}


@pytest.mark.parametrize("removed", [{1}, {2}, {3}, {1, 3}, {1, 2}, {2, 3}, {1, 2, 3}])
def test_any_part_of_a_manifest_can_be_shown_as_removed(
    table: Table, capture: Capture, removed: set[int]
) -> None:
    start = append(table, 1, 2, 3)
    table.delete(f"part IN ({', '.join(map(str, removed))})")
    changes = capture("db.t", Mode.NET, start, snapshot_id(table))
    assert changes.removed_metadata_location is not None
    shown = StaticTable.from_metadata(changes.removed_metadata_location).scan().to_arrow()
    assert set(shown["part"].to_pylist()) == removed
    assert changes.removed_files == changes.removed_records == len(removed)
