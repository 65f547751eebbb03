"""Which partitions differ between two states, and which each snapshot touched."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField

from calve.errors import RefusedError
from calve.lake import Lake, create_branch, open_table, touched_by, touched_by_each

pytestmark = pytest.mark.slow
BY_PART = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "part"))


def make(lake: Lake, spec: PartitionSpec = BY_PART) -> Table:
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "part", LongType()))
    return lake.catalog("lake").create_table("db.t", schema, partition_spec=spec)


def append(table: Table, *parts: int, branch: str = "main") -> int:
    rows = pa.table({"id": pa.array(parts, pa.int64()), "part": pa.array(parts, pa.int64())})
    table.refresh().append(rows, branch=branch)
    return head(table, branch)


def head(table: Table, branch: str = "main") -> int:
    snapshot = table.refresh().snapshot_by_name(branch)
    assert snapshot is not None
    return snapshot.snapshot_id


def test_the_net_difference_leaves_out_what_came_and_went(own_lake: Lake) -> None:
    table = make(own_lake)
    base = append(table, 1, 2)
    append(table, 3)
    table.refresh().delete("part == 3")
    append(table, 1)
    table.refresh().delete("part == 2")
    end = head(table)
    source = open_table(own_lake, "db.t")
    net = touched_by(source, base, end)
    assert net.specs == {0}
    counts = {key: (len(x.added), len(x.removed)) for key, x in net.partitions.items()}
    assert counts == {(0, (1,)): (1, 0), (0, (2,)): (0, 1)}
    each = touched_by_each(source, base, end)
    assert [x.partitions for x in each] == [{(0, (part,))} for part in (3, 3, 1, 2)]
    assert [x.summary["operation"] for x in each] == ["append", "delete", "append", "delete"]
    assert [x.snapshot_id for x in each][-1] == end


def test_two_branches_are_compared_with_their_base_and_with_each_other(own_lake: Lake) -> None:
    table = make(own_lake)
    base = append(table, 1)
    create_branch(open_table(own_lake, "db.t"), "b", base)
    on_branch, on_main = append(table, 2, branch="b"), append(table, 3)
    source = open_table(own_lake, "db.t")
    assert touched_by(source, base, on_branch).partitions.keys() == {(0, (2,))}
    assert touched_by(source, base, on_main).partitions.keys() == {(0, (3,))}
    across = touched_by(source, on_main, on_branch).partitions
    assert {key: (len(x.added), len(x.removed)) for key, x in across.items()} == {
        (0, (2,)): (1, 0),
        (0, (3,)): (0, 1),
    }
    with pytest.raises(RefusedError) as told:
        touched_by_each(source, on_main, on_branch)
    assert told.value.code == "HISTORY_REWRITTEN"


def test_an_unpartitioned_table_has_one_partition(own_lake: Lake) -> None:
    table = make(own_lake, UNPARTITIONED_PARTITION_SPEC)
    end = append(table, 1, 2)
    source = open_table(own_lake, "db.t")
    assert touched_by(source, None, end).partitions.keys() == {(0, ())}
    assert [x.partitions for x in touched_by_each(source, None, end)] == [{(0, ())}]


def test_partitions_of_another_spec_are_told_apart(own_lake: Lake) -> None:
    table = make(own_lake, UNPARTITIONED_PARTITION_SPEC)
    append(table, 1)
    with table.refresh().update_spec() as update:
        update.add_identity("part")
    end = append(table, 1)
    touched = touched_by(open_table(own_lake, "db.t"), None, end)
    assert touched.specs == {0, 1}
    assert touched.partitions.keys() == {(0, ()), (1, (1,))}
