"""Bounds and values as SQL literals of a column's own type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from calve.errors import UsageError
from calve.spark.targets import dotted, parse_name

#: A lower bound, inclusive, and an upper one, exclusive, as JSON has them; None: no bound.
Range = Sequence[Any]
_HAS_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


def literal(type_name: str, value: Any) -> str:
    """A value, as JSON has it, in a type of Spark. A timestamp that names no zone is in UTC."""
    text = str(value)
    if type_name == "timestamp" and not _HAS_ZONE.search(text):
        text += "+00:00" if ":" in text else "T00:00:00+00:00"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{escaped}' AS {type_name})"


def column_type(spark: Any, table: str, column: str) -> str:
    """The type of a column, by Spark's name for it. Raises COLUMN_NOT_FOUND."""
    from pyspark.errors import AnalysisException

    rows = spark.table(table)
    try:
        return str(rows.select(dotted(parse_name(column))).schema.fields[0].dataType.simpleString())
    except AnalysisException as error:
        raise UsageError(
            "COLUMN_NOT_FOUND",
            f"{table} has no column {column!r}; there are {', '.join(rows.columns)}",
            "name a column of the target",
        ) from error


def ranges_condition(spark: Any, column: str, type_name: str, ranges: Sequence[Range]) -> str:
    """The SQL condition of rows in one of the ranges; one without any bound is all rows.

    Raises RANGE_INVALID for a bound that is no value of the type: Spark may take it for NULL, and no row.
    """
    bounds = {bound for found in ranges for bound in found if bound is not None}
    _check(spark, type_name, sorted(bounds, key=str))
    name = dotted(parse_name(column))
    return " OR ".join(_condition(name, type_name, found) for found in ranges)


def _condition(name: str, type_name: str, found: Range) -> str:
    lower, upper = found
    parts = [] if lower is None else [f"{name} >= {literal(type_name, lower)}"]
    if upper is not None:
        parts.append(f"{name} < {literal(type_name, upper)}")
    return f"({' AND '.join(parts)})" if parts else "TRUE"


def _check(spark: Any, type_name: str, bounds: Sequence[Any]) -> None:
    if not bounds:
        return
    tried = [literal(type_name, bound).replace("CAST(", "TRY_CAST(", 1) for bound in bounds]
    row = spark.sql(f"SELECT {', '.join(f'{text} IS NULL' for text in tried)}").first()
    wrong = [bound for bound, is_wrong in zip(bounds, row, strict=True) if is_wrong]
    if wrong:
        raise UsageError(
            "RANGE_INVALID",
            f"{wrong[0]!r} is no value of type {type_name}",
            "give bounds of the column's own type",
        )
