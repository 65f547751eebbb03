"""Manifests are reused only where they hold what the range added, and nothing of a file gets lost."""

from __future__ import annotations

from collections import Counter

import pytest

from calve.lake.storage import load_manifest_list, read_json
from support.lake_table import LakeTable, count_rows

from .conftest import MakeTable


def manifests(table: LakeTable, metadata_location: str | None) -> list[str]:
    raw = read_json(table.source.io, str(metadata_location))
    listed = load_manifest_list(table.source.io, raw["snapshots"][-1]["manifest-list"])
    return [manifest.path for manifest in listed]


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_merged_manifests_do_not_bring_rows_from_before_the_range(
    make_table: MakeTable, format_version: int
) -> None:
    table = make_table(format_version=format_version)
    table.set(commit_manifest_min__count__to__merge="2")
    table.insert("(1, 'a')")
    start = table.insert("(2, 'b')")
    table.insert("(3, 'c')")
    table.insert("(4, 'd')")

    expected = Counter([(3, "c"), (4, "d")])
    assert table.after(table.check_net(start)) == expected
    assert table.after(table.appended(start)) == expected


def test_manifests_merged_after_a_spec_change_do_not_bring_old_rows(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part")
    table.set(commit_manifest_min__count__to__merge="2")
    for number in range(3):
        table.insert(f"({number}, {number})")
    start = table.head
    table.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    table.insert("(9, 9)")
    table.insert("(10, 9)")

    assert table.after(table.check_net(start)) == Counter([(9, 9), (10, 9)])


def test_manifest_that_only_adds_is_shown_as_it_is(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.insert("(2, 'b')")
    changes = table.check_net(start)

    (reused,) = manifests(table, changes.icdc_metadata_location)
    assert reused in manifests(table, table.source.metadata.metadata_location)


def test_pyiceberg_reads_the_source_right_after_it_read_the_capture(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.insert("(2, 'b')")
    changes = table.net(start)
    catalog = table.lake.catalog("lake")
    captured = catalog.load_table(str(changes.icdc_table).split(".", 1)[1])
    source = catalog.load_table(table.name.split(".", 1)[1])

    assert captured.scan().to_arrow()["id"].to_pylist() == [2]
    assert sorted(source.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    source.refresh().delete("id = 2")
    assert source.refresh().scan().to_arrow()["id"].to_pylist() == [1]
    assert captured.scan().to_arrow()["id"].to_pylist() == [2]


def test_rewritten_manifests_alone_are_no_change(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    start = table.insert("(2, 'b')")
    table.call("rewrite_manifests")
    assert table.head != start
    changes = table.check_net(start)

    assert not changes.has_changes
    assert table.appended(start).records == 0


def test_appends_are_found_behind_rewritten_manifests(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    start = table.insert("(2, 'b')")
    table.insert("(3, 'c')")
    table.call("rewrite_manifests")
    table.insert("(4, 'd')")

    expected = Counter([(3, "c"), (4, "d")])
    assert table.after(table.check_net(start)) == expected
    assert table.after(table.appended(start)) == expected


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_files_of_several_specs_are_shown_together(make_table: MakeTable, format_version: int) -> None:
    table = make_table("id bigint, part int", format_version=format_version)
    start = table.insert("(1, 0)")
    table.insert("(2, 0)")
    table.sql(f"ALTER TABLE {table} ADD PARTITION FIELD part")
    table.insert("(3, 1)")
    table.sql(f"ALTER TABLE {table} DROP PARTITION FIELD part")
    table.sql(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(4, id)")
    table.insert("(4, 2)")
    changes = table.check_net(start)

    assert table.after(changes).total() == 3
    assert {"part": 1} in changes.partitions


def test_files_are_shown_whose_partition_column_was_dropped(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part")
    start = table.insert("(1, 0)", "(2, 1)")
    table.insert("(3, 0)", "(4, 1)")
    table.sql(f"ALTER TABLE {table} DROP PARTITION FIELD part")
    table.sql(f"ALTER TABLE {table} DROP COLUMN part")
    table.sql(f"DELETE FROM {table} WHERE id = 3")
    changes = table.net(start)

    assert table.after(changes) == Counter([(4,)])
    assert table.difference(table.net(None))[0] == table.rows()


def test_partition_filters_still_prune_in_the_capture(make_table: MakeTable) -> None:
    table = make_table("id bigint, part int", "part")
    table.insert("(1, 0)", "(2, 1)")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    table.insert("(3, 0)", "(4, 1)")
    changes = table.check_net(None)
    captured = table.sql(f"SELECT id FROM {changes.icdc_table} WHERE part = 1")

    assert count_rows(captured) == Counter([(2,), (4,)])
    assert sorted(p["part"] for p in changes.partitions) == [0, 1]


def test_the_same_capture_written_twice_is_the_same_bytes(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    first = table.net(None)
    location = str(first.icdc_metadata_location)
    content = table.source.io.new_input(location).open().read()
    second = table.net(None)

    assert second == first
    assert table.source.io.new_input(location).open().read() == content
