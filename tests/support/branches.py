"""Tables with a branch: random changes in single partitions on either side, and what the rows then are."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from calve.lake import ChangeRequest, Changes, Lake, Mode, Segment, open_table, plan_changes, write_changes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 5
#: What may happen to a partition; `{t}` is the table or its branch, `{p}` the partition, `{n}` a new number.
CHANGES = {
    "insert": "INSERT INTO {t} SELECT {n} * 100 + id, {p}, 'new' FROM range(3)",
    "delete": "DELETE FROM {t} WHERE part = {p} AND id % 3 = {n} % 3",
    "delete_all": "DELETE FROM {t} WHERE part = {p}",
    "update": "UPDATE {t} SET v = concat(v, '{n}') WHERE part = {p} AND id % 2 = {n} % 2",
    "merge": "MERGE INTO {t} t USING (SELECT id + {n} % 7 AS k FROM range(6)) s"
    " ON t.id = s.k AND t.part = {p}"
    " WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged{n}'"
    " WHEN NOT MATCHED THEN INSERT (id, part, v) VALUES (s.k + {n} * 100, {p}, 'merged')",
    "overwrite": "INSERT OVERWRITE {t} PARTITION (part = {p}) SELECT {n} * 100 + id, 'over' FROM range(2)",
}


class Branched:
    """Makes tables of (id, part, v) by `part`, with rows in each partition, and a branch of each."""

    def __init__(self, spark: SparkSession, lake: Lake, namespace: str) -> None:
        self.spark = spark
        self.lake = lake
        self.namespace = namespace
        self._numbers = itertools.count(1)

    def make(self, version: int = 2, mode: str = "merge-on-read", branch: str = "b") -> BranchedTable:
        """A table with some deleted rows already."""
        name = f"lake.{self.namespace}.t{next(self._numbers)}"
        modes = ", ".join(f"'write.{verb}.mode'='{mode}'" for verb in ("update", "delete", "merge"))
        self.spark.sql(
            f"CREATE TABLE {name} (id BIGINT, part INT, v STRING) USING iceberg PARTITIONED BY (part)"
            f" TBLPROPERTIES ('format-version'='{version}', {modes})"
        )
        part = f"CAST(id % {PARTITIONS} AS INT)"
        for first in (0, 40):
            self.spark.sql(f"INSERT INTO {name} SELECT {first} + id, {part}, 'old' FROM range(40)")
        self.spark.sql(f"DELETE FROM {name} WHERE id IN (3, 4, 45)")
        self.spark.sql(f"ALTER TABLE {name} CREATE BRANCH `{branch}`")
        return BranchedTable(self.spark, self.lake, name, branch)


class BranchedTable:
    """A table and its branch."""

    def __init__(self, spark: SparkSession, lake: Lake, name: str, branch: str) -> None:
        self.spark = spark
        self.lake = lake
        self.name = name
        self.branch = branch
        self.base = self.head("main")
        self._numbers = itertools.count(1)

    def side(self, ref: str) -> str:
        """What SQL calls a branch."""
        return self.name if ref == "main" else f"{self.name}.branch_{ref}"

    def head(self, ref: str) -> int:
        """The newest snapshot of a branch."""
        found = self.spark.sql(f"SELECT snapshot_id FROM {self.name}.refs WHERE name = '{ref}'").first()
        assert found is not None
        return int(found[0])

    def change(self, ref: str, kind: str, partition: int) -> None:
        """Do one of `CHANGES` to a partition."""
        sql = CHANGES[kind].format(t=self.side(ref), p=partition, n=next(self._numbers))
        self.spark.sql(sql)

    def rows(self, ref: str) -> dict[int, Counter[tuple[Any, ...]]]:
        """The rows of each partition."""
        found: dict[int, Counter[tuple[Any, ...]]] = {part: Counter() for part in range(PARTITIONS)}
        for row in self.spark.sql(f"SELECT * FROM {self.side(ref)}").collect():
            found[row["part"]][tuple(row)] += 1
        return found

    def one(self, sql: str) -> Any:
        """The one value of a query on `{t}`."""
        found = self.spark.sql(sql.format(t=self.name)).first()
        assert found is not None
        return found[0]

    def summary(self, snapshot_id: int) -> dict[str, str]:
        """The summary of a snapshot."""
        found = self.spark.sql(f"SELECT summary FROM {self.name}.snapshots WHERE snapshot_id = {snapshot_id}")
        row = found.first()
        assert row is not None
        return dict(row[0])

    def files(self) -> set[str]:
        """All data files that any snapshot has."""
        return {
            row[0] for row in self.spark.sql(f"SELECT file_path FROM {self.name}.all_data_files").collect()
        }

    def capture(self, start: int, end: int) -> Changes:
        """The net change between two snapshots of main."""
        table = open_table(self.lake, self.name)
        request = ChangeRequest(Mode.NET, (Segment(start, end),))
        return write_changes(plan_changes(table, request), self.lake.settings.icdc)
