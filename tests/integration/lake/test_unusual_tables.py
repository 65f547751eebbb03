"""Tables without data, of other file formats, imported, damaged, encrypted or too new."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from calve.errors import CalveError, CorruptError, RefusedError
from calve.lake import Mode, open_table
from calve.lake.listing import list_files
from calve.lake.storage import load_manifest_list, write_bytes
from support.lake_table import MERGE_ON_READ

from .conftest import MakeTable


@pytest.mark.parametrize("mode", list(Mode))
def test_table_without_snapshots_has_no_changes(make_table: MakeTable, mode: Mode) -> None:
    table = make_table()
    changes = table.capture(mode, None)

    assert not changes.has_changes
    assert (changes.from_snapshot_id, changes.to_snapshot_id) == (None, None)
    assert table.after(changes) == Counter()


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_table_that_became_empty_is_shown_empty(make_table: MakeTable, format_version: int) -> None:
    table = make_table(format_version=format_version)
    start = table.insert("(1, 'a')")
    table.sql(f"DELETE FROM {table}")

    assert table.difference(table.check_net(start))[1] == Counter([(1, "a")])
    assert table.after(table.check_net(None)) == Counter()


@pytest.mark.parametrize("file_format", ["avro", "orc"])
def test_other_file_formats_are_captured(make_table: MakeTable, file_format: str) -> None:
    table = make_table(write_format_default=file_format, **MERGE_ON_READ)
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.insert("(3, 'c')")
    table.sql(f"DELETE FROM {table} WHERE id = 1")
    table.java.delete_equal([{"id": 2}], file_format=file_format.upper())
    changes = table.check_net(start)

    assert table.difference(changes) == (Counter([(3, "c")]), Counter([(1, "a"), (2, "b")]))


def test_imported_files_are_read_by_name_mapping(make_table: MakeTable, tmp_path: Path) -> None:
    table = make_table("id bigint, name string")
    start = table.insert("(1, 'a')")
    folder = f"file://{tmp_path}/imported"
    table.sql("SELECT 2L AS id, 'b' AS name").write.parquet(folder)
    table.call("add_files", f"source_table => '`parquet`.`{folder}`'")
    table.sql(f"ALTER TABLE {table} RENAME COLUMN name TO label")
    changes = table.check_net(start)

    assert table.after(changes) == Counter([(2, "b")])


@pytest.mark.parametrize("metrics", ["none", "counts"])
def test_tables_without_metrics_are_captured(make_table: MakeTable, metrics: str) -> None:
    table = make_table(**MERGE_ON_READ)
    table.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.metrics.default'='{metrics}')")
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.insert("(3, 'c')")
    table.java.delete_equal([{"id": 1}])
    table.sql(f"DELETE FROM {table} WHERE id = 2")

    table.check_net(start)


# What is refused


def test_encrypted_table_is_refused(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    encrypted = table.with_metadata(lambda raw: raw["properties"].update({"encryption.key-id": "key"}))

    with pytest.raises(RefusedError) as refused:
        open_table(encrypted.lake, encrypted.name)
    assert refused.value.code == "TABLE_ENCRYPTED"


def test_newer_format_version_is_refused(make_table: MakeTable) -> None:
    table = make_table()
    table.insert("(1, 'a')")
    newer = table.with_metadata(lambda raw: raw.update({"format-version": 4}))

    with pytest.raises(RefusedError) as refused:
        open_table(newer.lake, newer.name)
    assert refused.value.code == "FORMAT_TOO_NEW"


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty"])
@pytest.mark.parametrize("victim", ["manifest", "manifest list", "metadata"])
def test_damaged_metadata_is_named_and_nothing_stays_behind(
    make_table: MakeTable, damage: str, victim: str
) -> None:
    table = make_table("id bigint, part int", "part")
    start = table.insert("(1, 0)", "(2, 1)")
    table.sql(f"DELETE FROM {table} WHERE part = 0")
    table.insert("(3, 0)", "(4, 1)")
    source = table.source
    listed = source.metadata.snapshot(table.head).manifest_list
    assert listed is not None
    manifests = load_manifest_list(source.io, listed)
    path = {
        "manifest": manifests[0].path,
        "manifest list": listed,
        "metadata": source.metadata.metadata_location,
    }[victim]
    data = source.io.new_input(path).open().read()
    broken = {"cut": data[: len(data) - 40], "garbage": data[:30] + b"\xff" * 200 + data[230:], "empty": b""}
    write_bytes(source.io, path, broken[damage])
    icdc = f"{table.lake.catalog('lake').properties['warehouse']}/_icdc"
    files = {file.location for file in list_files(source.io, icdc)}

    with pytest.raises(CorruptError) as corrupt:
        table.net(start, range_columns=("id",))
    assert corrupt.value.code == "METADATA_CORRUPT"
    assert path in corrupt.value.message
    assert {file.location for file in list_files(source.io, icdc)} == files


def test_missing_manifest_is_named(make_table: MakeTable) -> None:
    table = make_table()
    start = table.insert("(1, 'a')")
    table.insert("(2, 'b')")
    source = table.source
    manifest_list = source.metadata.snapshot(table.head).manifest_list
    assert manifest_list is not None
    source.io.delete(manifest_list)

    with pytest.raises(CalveError) as missing:
        table.net(start)
    assert missing.value.code == "METADATA_MISSING"
