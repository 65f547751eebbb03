"""The rows of two sides: counted by group, and those that differ."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ByteType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StructField,
)

from calve.backfill.spark.grouping import Groups
from calve.backfill.spark.plain import plain
from calve.backfill.spark.report import ChangedRow, Moves, Samples, Side
from calve.backfill.spark.totals import add_sides
from calve.spark.row_diff import CHANGE_TYPE, diff_by_value

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SIDE, _GROUP, _ROW = "__side", "__group", "__row"
_KINDS = {"insert": "added", "delete": "removed", "update_after": "changed"}


def count_sides(main: DataFrame, branch: DataFrame, groups: Groups) -> dict[str, tuple[Side, Side]]:
    """What each group has on main and on the branch, in one pass."""
    fields = main.schema.fields
    both = main.withColumn(_SIDE, sf.lit(0)).unionByName(branch.withColumn(_SIDE, sf.lit(1)))
    nulls = [sf.count_if(_column(x.name).isNull()).alias(f"n{at}") for at, x in enumerate(fields)]
    sums = {at: total for at, x in enumerate(fields) if (total := _sum(x)) is not None}
    counted = both.groupBy(*groups.keys(), _SIDE).agg(
        sf.count(sf.lit(1)).alias("rows"), *nulls, *[total.alias(f"s{at}") for at, total in sums.items()]
    )
    found: dict[str, list[Side]] = {}
    for row in counted.withColumn(_GROUP, groups.text()).collect():
        side = Side(
            row["rows"],
            {fields[at].name: plain(row[f"s{at}"]) for at in sums},
            {x.name: row[f"n{at}"] for at, x in enumerate(fields)},
        )
        # Groups that differ in less than their text shows are one.
        sides = found.setdefault(row[_GROUP], [Side(), Side()])
        sides[row[_SIDE]] = add_sides([sides[row[_SIDE]], side])
    return {group: (sides[0], sides[1]) for group, sides in found.items()}


def _sum(field: StructField) -> Column | None:
    """The sum of a numeric column, in a type that has room for it; null where even that is too small."""
    column = _column(field.name)
    match field.dataType:
        case ByteType() | ShortType() | IntegerType():
            # So many rows that this overflows there are not, and it is far cheaper than decimals.
            return sf.sum(column.cast("bigint"))
        case LongType():
            return sf.try_sum(column.cast("decimal(20,0)"))
        case DecimalType():
            return sf.try_sum(column)
        case FloatType() | DoubleType():
            return sf.sum(column.cast("double"))
    return None


class RowDifference:
    """The rows that differ between two sides; with keys, changed ones are told from others."""

    def __init__(self, rows: DataFrame, keys: Sequence[str], columns: Sequence[str]) -> None:
        self._rows = rows
        self._keys = [_column(key) for key in keys]
        self._key_names = tuple(keys)
        self._columns = [_column(name) for name in columns]

    def moves(self, groups: Groups) -> dict[str, Moves]:
        """How many rows of each group came, went and changed."""
        counted = self._rows.groupBy(*groups.keys(), CHANGE_TYPE).count()
        found: dict[str, Counter[str]] = {}
        for row in counted.withColumn(_GROUP, groups.text()).collect():
            if row[CHANGE_TYPE] in _KINDS:
                found.setdefault(row[_GROUP], Counter())[_KINDS[row[CHANGE_TYPE]]] += row["count"]
        return {group: Moves(**counts) for group, counts in found.items()}

    def samples(self, count: int) -> Samples:
        """Up to so many rows of each kind; by key, the first ones."""
        if not count:
            return Samples()
        return Samples(
            self._some("insert", count),
            self._some("delete", count),
            self._changed(count) if self._keys else (),
        )

    def _some(self, change: str, count: int) -> tuple[dict[str, Any], ...]:
        rows = self._rows.where(sf.col(CHANGE_TYPE) == change)
        ordered = rows.orderBy(*self._keys) if self._keys else rows
        return tuple(json.loads(row[0]) for row in ordered.select(self._json()).limit(count).collect())

    def _changed(self, count: int) -> tuple[ChangedRow, ...]:
        images = [
            sf.sort_array(sf.collect_list(sf.when(sf.col(CHANGE_TYPE) == kind, sf.col(_ROW)))).alias(kind)
            for kind in ("update_before", "update_after")
        ]
        rows = self._rows.where(sf.col(CHANGE_TYPE).startswith("update_"))
        keyed = rows.select(*self._keys, CHANGE_TYPE, self._json().alias(_ROW)).groupBy(*self._keys)
        found = keyed.agg(*images).orderBy(*self._keys).limit(count).collect()
        pairs = (
            pair for row in found for pair in zip(row["update_before"], row["update_after"], strict=False)
        )
        return tuple(self._pair(json.loads(before), json.loads(after)) for before, after in pairs)[:count]

    def _pair(self, before: dict[str, Any], after: dict[str, Any]) -> ChangedRow:
        columns = {name: (before[name], after[name]) for name in before if before[name] != after[name]}
        return ChangedRow({key: before[key] for key in self._key_names}, columns)

    def _json(self) -> Column:
        """A whole row as text: Spark's, so that times are in the session's zone, wherever this runs."""
        return sf.to_json(sf.struct(*self._columns), {"ignoreNullFields": "false"})


@contextmanager
def row_difference(main: DataFrame, branch: DataFrame, keys: Sequence[str]) -> Iterator[RowDifference]:
    """The rows that differ, kept for the length of the block: several things are asked of them."""
    rows = diff_by_value(branch, main, keys).persist()
    try:
        yield RowDifference(rows, keys, main.columns)
    finally:
        rows.unpersist()


def _column(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")
