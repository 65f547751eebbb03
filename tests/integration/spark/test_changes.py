"""The row-level view of changes, by lineage, by value and by key."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from calve.errors import UsageError
from calve.lake import ChangeRequest, Changes, Lake, Mode, Segment, open_table, plan_changes, write_changes
from calve.spark.changes import changes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Change = tuple[Any, ...]


class Table:
    """A small table of (id, v) in the shared lake, and what a test asks of it."""

    def __init__(
        self, spark: SparkSession, lake: Lake, namespace: str, version: int, write_mode: str
    ) -> None:
        self.name = f"lake.{namespace}.t"
        self._spark = spark
        self._lake = lake
        modes = ", ".join(f"'write.{verb}.mode'='{write_mode}'" for verb in ("update", "delete", "merge"))
        spark.sql(
            f"CREATE TABLE {self.name} (id BIGINT, v STRING) USING iceberg"
            f" TBLPROPERTIES ('format-version'='{version}', {modes})"
        )
        self.run("INSERT INTO {t} SELECT id, concat('v', id) FROM range(6)")

    def run(self, statement: str) -> None:
        self._spark.sql(statement.format(t=self.name))

    def snapshot(self) -> int:
        current = open_table(self._lake, self.name).metadata.current_snapshot_id()
        assert current is not None
        return current

    def capture(self, start: int | None, mode: Mode = Mode.NET, **wanted: Any) -> Changes:
        table = open_table(self._lake, self.name)
        segment = Segment(start, table.metadata.current_snapshot_id())
        request = ChangeRequest(mode, (segment,), **wanted)
        return write_changes(plan_changes(table, request), self._lake.settings.icdc)

    def changes_since(self, start: int | None, mode: Mode = Mode.NET, **wanted: Any) -> Counter[Change]:
        rows = changes(self._spark, self.capture(start, mode, **wanted)).collect()
        return Counter((row["_change_type"], row["id"], row["v"]) for row in rows)


@pytest.fixture(params=["copy-on-write", "merge-on-read"])
def write_mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def v2(spark: SparkSession, lake: Lake, namespace: str, write_mode: str) -> Table:
    return Table(spark, lake, namespace, 2, write_mode)


@pytest.fixture
def v3(spark: SparkSession, lake: Lake, namespace: str, write_mode: str) -> Table:
    return Table(spark, lake, namespace, 3, write_mode)


def change_everything(table: Table) -> None:
    table.run("UPDATE {t} SET v = 'new' WHERE id = 1")
    table.run("DELETE FROM {t} WHERE id = 2")
    table.run("INSERT INTO {t} VALUES (10, 'ten')")
    table.run("UPDATE {t} SET v = v WHERE id = 3")


def test_lineage_tells_updates_from_inserts_and_deletes(v3: Table) -> None:
    start = v3.snapshot()
    change_everything(v3)
    assert v3.capture(start).row_filter is not None
    assert v3.changes_since(start) == {
        ("update_before", 1, "v1"): 1,
        ("update_after", 1, "new"): 1,
        ("delete", 2, "v2"): 1,
        ("insert", 10, "ten"): 1,
    }


def test_row_filter_narrows_the_table_to_rows_that_changed(v3: Table, spark: SparkSession) -> None:
    start = v3.snapshot()
    change_everything(v3)
    capture = v3.capture(start)
    rows = spark.sql(f"SELECT id FROM {capture.icdc_table} WHERE {capture.row_filter}").collect()
    assert sorted(row["id"] for row in rows) == [1, 3, 10]


def test_rows_rewritten_under_new_ids_cancel_by_value(v3: Table) -> None:
    start = v3.snapshot()
    v3.run("INSERT OVERWRITE {t} SELECT id, IF(id = 5, 'five', v) FROM {t}")
    assert v3.changes_since(start) == {("delete", 5, "v5"): 1, ("insert", 5, "five"): 1}


def test_by_value_an_update_is_a_delete_and_an_insert(v2: Table) -> None:
    start = v2.snapshot()
    change_everything(v2)
    assert v2.changes_since(start) == {
        ("delete", 1, "v1"): 1,
        ("insert", 1, "new"): 1,
        ("delete", 2, "v2"): 1,
        ("insert", 10, "ten"): 1,
    }


def test_identifier_columns_pair_updates_by_key(v2: Table) -> None:
    start = v2.snapshot()
    change_everything(v2)
    assert v2.changes_since(start, identifier_columns=("id",)) == {
        ("update_before", 1, "v1"): 1,
        ("update_after", 1, "new"): 1,
        ("delete", 2, "v2"): 1,
        ("insert", 10, "ten"): 1,
    }


def test_equal_rows_are_counted_not_merged(v2: Table) -> None:
    start = v2.snapshot()
    v2.run("INSERT INTO {t} VALUES (7, 'x'), (7, 'x')")
    v2.run("UPDATE {t} SET v = 'y' WHERE id = 0")
    assert v2.changes_since(start)[("insert", 7, "x")] == 2


def test_compaction_among_changes_shows_nothing_of_itself(v2: Table, spark: SparkSession) -> None:
    start = v2.snapshot()
    v2.run("INSERT INTO {t} VALUES (10, 'ten')")
    namespace_and_name = v2.name.removeprefix("lake.")
    spark.sql(
        f"CALL lake.system.rewrite_data_files('{namespace_and_name}', options => map('rewrite-all','true'))"
    )
    assert v2.changes_since(start) == {("insert", 10, "ten"): 1}


def test_log_shows_every_change_in_order(v2: Table, spark: SparkSession) -> None:
    start = v2.snapshot()
    v2.run("INSERT INTO {t} VALUES (10, 'ten')")
    v2.run("UPDATE {t} SET v = 'TEN' WHERE id = 10")
    v2.run("DELETE FROM {t} WHERE id = 10")
    rows = changes(spark, v2.capture(start, Mode.LOG)).collect()
    seen = Counter((row["_change_ordinal"], row["_change_type"], row["v"]) for row in rows)
    assert seen == {
        (0, "insert", "ten"): 1,
        (1, "delete", "ten"): 1,
        (1, "insert", "TEN"): 1,
        (2, "delete", "TEN"): 1,
    }


def test_append_capture_shows_inserts_only(v2: Table) -> None:
    start = v2.snapshot()
    v2.run("INSERT INTO {t} VALUES (10, 'ten')")
    assert v2.changes_since(start, Mode.APPEND) == {("insert", 10, "ten"): 1}


def test_nothing_changed_gives_no_rows(v3: Table) -> None:
    start = v3.snapshot()
    for mode in Mode:
        assert v3.changes_since(start, mode) == {}


def test_an_unknown_identifier_column_is_refused(v2: Table, spark: SparkSession) -> None:
    capture = v2.capture(None)
    with pytest.raises(UsageError, match="no identifier column 'nope'"):
        changes(spark, capture, ["nope"])


def test_columns_without_equality_are_compared_too(spark: SparkSession, lake: Lake, namespace: str) -> None:
    name = f"lake.{namespace}.maps"
    spark.sql(
        f"CREATE TABLE {name} (id INT, m MAP<STRING, INT>, n STRUCT<a: MAP<STRING, INT>>) USING iceberg"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, map('a', id), named_struct('a', map('b', 1)) FROM range(3)")
    start = open_table(lake, name).metadata.current_snapshot_id()
    spark.sql(f"UPDATE {name} SET m = map('z', 9) WHERE id = 1")
    table = open_table(lake, name)
    request = ChangeRequest(Mode.NET, (Segment(start, table.metadata.current_snapshot_id()),))
    rows = changes(spark, write_changes(plan_changes(table, request), lake.settings.icdc)).collect()
    assert sorted((row["_change_type"], row["m"]) for row in rows) == [
        ("delete", {"a": 1}),
        ("insert", {"z": 9}),
    ]
