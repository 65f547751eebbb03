"""Whatever is done to an ICDC table, the files of its source stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from pyiceberg.exceptions import NoSuchTableError

from calve.lake import Changes, collect_orphans, drop_changes
from calve.lake.listing import list_files
from calve.settings import IcdcSettings
from support.lake_table import LakeTable

from .conftest import MakeTable


def files_of(table: LakeTable) -> set[str]:
    source = table.source
    return {file.location for file in list_files(source.io, source.metadata.location)}


def files_of_icdc(table: LakeTable, changes: Changes) -> set[str]:
    folder = str(changes.icdc_metadata_location).rpartition("/metadata/")[0]
    return {file.location for file in list_files(table.source.io, folder)}


def is_registered(table: LakeTable, name: str | None) -> bool:
    return table.lake.catalog("lake").table_exists(str(name).split(".", 1)[1])


@pytest.fixture
def captured(make_table: MakeTable) -> tuple[LakeTable, Changes]:
    """A table and a change of it with rows that came and rows that went."""
    table = make_table()
    start = table.insert("(1, 'a')", "(2, 'b')")
    table.sql(f"UPDATE {table} SET name = 'z' WHERE id = 2")
    table.insert("(3, 'c')")
    return table, table.net(start)


@pytest.fixture
def unharmed(captured: tuple[LakeTable, Changes]) -> Callable[[], None]:
    """Says that the source has all its files and rows."""
    table, _ = captured
    files, rows = files_of(table), table.rows()

    def check() -> None:
        assert files_of(table) == files
        assert table.rows() == rows
        assert all(table.source.io.new_input(f.location()).exists() for f in table.java.data_files())

    return check


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE {icdc} PURGE",
        "CALL lake.system.expire_snapshots(table => '{name}', older_than => TIMESTAMP '2100-01-01')",
        "CALL lake.system.remove_orphan_files(table => '{name}', older_than => TIMESTAMP '2020-01-01')",
    ],
)
def test_maintenance_that_removes_files_is_refused_on_an_icdc_table(
    captured: tuple[LakeTable, Changes], unharmed: Callable[[], None], statement: str
) -> None:
    table, changes = captured
    name = str(changes.icdc_table)
    with pytest.raises(Exception, match=r"GC is disabled|gc\.enabled"):
        table.sql(statement.format(icdc=name, name=name.split(".", 1)[1]))
    unharmed()


@pytest.mark.parametrize(
    "statement", ["DROP TABLE {icdc}", "DELETE FROM {icdc}", "INSERT OVERWRITE {icdc} VALUES (9, 'x')"]
)
def test_source_survives_what_is_written_to_its_icdc_table(
    captured: tuple[LakeTable, Changes], unharmed: Callable[[], None], statement: str
) -> None:
    table, changes = captured
    table.sql(statement.format(icdc=changes.icdc_table))
    unharmed()


def test_a_table_somebody_wrote_to_is_handed_out_as_it_was_captured(
    captured: tuple[LakeTable, Changes], unharmed: Callable[[], None]
) -> None:
    table, changes = captured
    expected = table.after(changes)
    table.sql(f"INSERT INTO {changes.icdc_table} VALUES (9, 'x')")
    again = table.net(changes.from_snapshot_id, changes.to_snapshot_id)

    assert again == changes
    assert Counter(tuple(row) for row in table.sql(f"SELECT * FROM {again.icdc_table}").collect()) == expected
    unharmed()


def test_dropped_changes_leave_nothing_and_may_be_dropped_twice(
    captured: tuple[LakeTable, Changes], unharmed: Callable[[], None]
) -> None:
    table, changes = captured
    assert is_registered(table, changes.icdc_table)
    assert changes.removed_table is not None
    for _ in range(2):
        drop_changes(table.lake, changes)
        assert not is_registered(table, changes.icdc_table)
        assert not is_registered(table, changes.removed_table)
        assert files_of_icdc(table, changes) == set()
    unharmed()


def test_orphans_are_collected_and_kept_tables_are_not(
    captured: tuple[LakeTable, Changes], unharmed: Callable[[], None]
) -> None:
    table, changes = captured
    other = table.appended(changes.from_snapshot_id)
    kept = {str(changes.icdc_metadata_location), str(changes.removed_metadata_location)}
    settings = IcdcSettings()
    folder = str(other.icdc_metadata_location).rpartition("/metadata/")[0]

    assert collect_orphans(table.lake, settings, kept, timedelta(days=1)) == []
    assert folder in collect_orphans(table.lake, settings, kept, timedelta(0), dry_run=True)
    assert is_registered(table, other.icdc_table)
    assert folder in collect_orphans(table.lake, settings, kept, timedelta(0))
    assert not is_registered(table, other.icdc_table)
    assert is_registered(table, changes.icdc_table)
    assert table.after(changes).total() > 0
    unharmed()


def test_unregistered_tables_are_not_in_the_catalog_and_can_be_read(
    captured: tuple[LakeTable, Changes],
) -> None:
    table, changes = captured
    settings = IcdcSettings(register_tables=False, namespace="quiet")
    hidden = table.net(changes.from_snapshot_id, settings=settings)

    assert (hidden.icdc_table, hidden.removed_table) == (None, None)
    assert table.after(hidden) == table.after(changes)
    with pytest.raises(NoSuchTableError):
        table.lake.catalog("lake").load_table(("quiet", str(changes.icdc_table).split(".")[-1]))
