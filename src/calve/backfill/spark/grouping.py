"""What rows are counted by, and which of these groups can differ at all, by metadata alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from calve.backfill.spark.literals import column_type, literal
from calve.backfill.spark.options import CompareOptions, Grouping
from calve.backfill.spark.targets import plain_name
from calve.lake.values import partition_json
from calve.spark.once.tables import tables_of
from calve.spark.targets import dotted, parse_name

#: With more partitions than this in a condition, reading all rows is no worse.
_MOST_PARTITIONS = 500
_TRANSFORM = re.compile(r"(?P<name>\w+)\((?:(?P<width>\d+), )?(?P<column>.+)\)")
_PART = re.compile(r"Part \d+")
#: Transforms whose values are numbers to Spark, and text to people.
_READABLE = {"years": "year", "months": "month", "hours": "hour"}
_TIMES = ("date", "timestamp", "timestamp_ntz")
_EQUALITY_DELETES = 2
_ALL = "TRUE"
_KEY = "__group"


@dataclass(frozen=True, slots=True)
class GroupField:
    """An expression that rows are grouped by; `transform` is Spark's name for what it does."""

    name: str
    expression: str
    transform: str = "identity"

    def show(self, value: Any) -> Any:
        """A value of the expression as people write it."""
        return (
            partition_json(_READABLE[self.transform], None, value) if self.transform in _READABLE else value
        )


@dataclass(frozen=True, slots=True)
class Groups:
    """What rows are grouped by."""

    fields: tuple[GroupField, ...]

    def keys(self) -> list[Any]:
        """What rows are grouped by, as columns of which `text` makes one."""
        from pyspark.sql import functions as sf

        return [sf.expr(field.expression).alias(f"{_KEY}{at}") for at, field in enumerate(self.fields)]

    def text(self) -> Any:
        """The group of a row that has the `keys`, as one text. Made of groups, not of all their rows."""
        from pyspark.sql import functions as sf

        if not self.fields:
            return sf.lit("{}")
        values = [sf.col(f"{_KEY}{at}").alias(str(at)) for at in range(len(self.fields))]
        return sf.to_json(sf.struct(*values), {"ignoreNullFields": "false"})

    def show(self, text: str) -> dict[str, Any]:
        """The names and values of a group."""
        values = json.loads(text)
        return {field.name: field.show(values[str(at)]) for at, field in enumerate(self.fields)}


def groups_of(spark: Any, table: str, options: CompareOptions) -> Groups:
    """The groups that the options ask for; the whole of a table that has no partitions."""
    match options.group_by:
        case Grouping.DAY:
            return Groups((_day_field(spark, table, options.column or ""),))
        case Grouping.PARTITION:
            return Groups(partition_fields(spark, table))
        case Grouping.TABLE:
            return Groups(())


def _day_field(spark: Any, table: str, column: str) -> GroupField:
    """The days of a column: in UTC, as those of Iceberg's partitions are, whatever zone the session is in."""
    kind, name = column_type(spark, plain_name(table), column), dotted(parse_name(column))
    if kind in _TIMES:
        return GroupField("day", f"{_functions(spark, table)}.days({name})")
    return GroupField("day", f"TRY_CAST({name} AS DATE)")


def _functions(spark: Any, table: str) -> str:
    """Where the catalog of a table has Iceberg's transforms as functions."""
    return dotted((parse_name(tables_of(spark).full_name(parse_name(table)))[0], "system"))


def partition_fields(spark: Any, table: str) -> tuple[GroupField, ...]:
    """What the table is partitioned by now."""
    functions = _functions(spark, table)
    rows = spark.sql(f"DESCRIBE TABLE {plain_name(table)}").collect()
    texts = [row["data_type"] for row in rows if _PART.fullmatch(row["col_name"])]
    return tuple(_to_field(text, functions) for text in texts) or _plain_fields([x["col_name"] for x in rows])


def _to_field(text: str, functions: str) -> GroupField:
    found = _TRANSFORM.fullmatch(text)
    if found is None:
        return GroupField(text, dotted(parse_name(text)))
    column = dotted(parse_name(found["column"]))
    arguments = column if found["width"] is None else f"{found['width']}, {column}"
    return GroupField(text, f"{functions}.{found['name']}({arguments})", found["name"])


def _plain_fields(names: list[str]) -> tuple[GroupField, ...]:
    """Spark lists partitions by plain columns in another way: once more, below their own headline."""
    headline = "# Partition Information"
    if headline not in names:
        return ()
    listed = names[names.index(headline) + 1 :]
    until = listed.index("") if "" in listed else len(listed)
    return tuple(GroupField(name, dotted((name,))) for name in listed[:until] if not name.startswith("#"))


def differing_rows(spark: Any, table: str, main: int | None, branch: int | None) -> str | None:
    """The condition of rows in partitions that have not the same files on both sides; None: there are none.

    Where partitions cannot be told by conditions on columns, it is true for all rows.
    """
    if main == branch:
        return None
    files = dotted((*parse_name(table), "files"))
    struct = next((x.dataType for x in spark.table(files).schema.fields if x.name == "partition"), None)
    kinds = [] if struct is None else [(x.name, x.dataType.simpleString()) for x in struct.fields]
    values = ", ".join(_text(f"partition.{dotted((name,))}", kind) for name, kind in kinds)
    partition = f"array({values})" if kinds else "array('')"
    sides = [
        f"SELECT {side} AS side, content, spec_id, file_path, content_offset, {partition} AS partition "
        f"FROM {files} VERSION AS OF {snapshot}"
        for side, snapshot in ((0, main), (1, branch))
        if snapshot is not None
    ]
    found = spark.sql(
        f"SELECT DISTINCT content, spec_id, partition FROM ({' UNION ALL '.join(sides)}) "
        "GROUP BY content, spec_id, file_path, content_offset, partition HAVING min(side) = max(side)"
    ).take(2 * _MOST_PARTITIONS)
    if not found:
        return None
    fields = partition_fields(spark, table)
    is_plain = len(fields) == len(kinds) > 0 and len({row["spec_id"] for row in found}) == 1
    tuples = {tuple(row["partition"]) for row in found}
    reaches_others = any(row["content"] == _EQUALITY_DELETES for row in found)
    if not is_plain or reaches_others or len(tuples) > _MOST_PARTITIONS or _is_lossy(kinds):
        return _ALL
    return _condition(fields, [kind for _, kind in kinds], sorted(tuples, key=str))


def _text(value: str, kind: str) -> str:
    """A value as text that gives it back."""
    zoned = f"date_format({value}, \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"
    return zoned if kind == "timestamp" else f"CAST({value} AS STRING)"


def _is_lossy(kinds: list[tuple[str, str]]) -> bool:
    """Whether values do not survive being text."""
    return any(kind == "binary" for _, kind in kinds)


def _condition(fields: tuple[GroupField, ...], kinds: list[str], tuples: list[tuple[Any, ...]]) -> str:
    if len(fields) == 1:
        return _one_of(fields[0].expression, kinds[0], [found[0] for found in tuples])
    each = (
        " AND ".join(
            _one_of(field.expression, kind, [value])
            for field, kind, value in zip(fields, kinds, found, strict=True)
        )
        for found in tuples
    )
    return " OR ".join(f"({text})" for text in each)


def _one_of(expression: str, kind: str, values: list[Any]) -> str:
    parts = [f"{expression} IS NULL"] if None in values else []
    texts = [literal(kind, value) for value in values if value is not None]
    if texts:
        parts.append(f"{expression} IN ({', '.join(texts)})")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"
