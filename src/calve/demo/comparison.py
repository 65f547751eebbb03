"""Whether two tables have the same rows, as often as each comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many rows two tables have, and which days differ."""

    left_rows: int
    right_rows: int
    different: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Whether no day differs."""
        return not self.different

    def to_json(self) -> dict[str, Any]:
        """The comparison for programs."""
        return {
            "equal": self.is_equal,
            "rows": [self.left_rows, self.right_rows],
            "different": list(self.different),
        }


def compare(
    spark: SparkSession, left: str, right: str, columns: Sequence[str], day: str, where: str
) -> Comparison:
    """Compare two tables day by day, in one pass over each, by sums of a hash over all the columns.

    Both halves of the hash are summed up: that does not depend on the order of rows, but on how often each
    comes, and no sum is too big for its type.
    """
    first, second = (_fingerprints(spark, table, columns, day, where) for table in (left, right))
    days = sorted(first.keys() | second.keys())
    different = tuple(name for name in days if first.get(name) != second.get(name))
    return Comparison(_rows(first), _rows(second), different)


def _fingerprints(
    spark: SparkSession, table: str, columns: Sequence[str], day: str, where: str
) -> dict[str, tuple[Any, ...]]:
    listed = ", ".join(columns)
    rows = spark.sql(
        "SELECT CAST(day AS STRING), count(*), sum(h & 4294967295), sum(shiftright(h, 32)) FROM "
        f"(SELECT {day} AS day, xxhash64({listed}) AS h FROM {table} WHERE {where}) GROUP BY day"
    ).collect()
    return {row[0]: tuple(row)[1:] for row in rows}


def _rows(prints: dict[str, tuple[Any, ...]]) -> int:
    return sum(values[0] for values in prints.values())
