"""Taking the rows of a range out of a target, before they are written anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calve.backfill.spark.literals import Range, column_type, ranges_condition
from calve.backfill.spark.targets import (
    BACKFILL_PROPERTY,
    branch_name,
    find_mark,
    head_of,
    outside_branches,
    plain_name,
    table_state,
)
from calve.spark.once.landing import MAIN
from calve.spark.once.marking import marked


def clear(
    spark: Any, table: str, branch: str | None, column: str, ranges: Sequence[Range], marker: str
) -> dict[str, Any]:
    """Delete the rows of the ranges from a branch or from main; the snapshot that did, None if none was made.

    Done once: a snapshot with the marker in the history of the branch is found, and nothing is deleted again.
    Ranges that are whole partitions, or whole files, are dropped from the metadata; no data is rewritten.
    """
    state = table_state(spark, table)
    head_of(state, branch or MAIN)
    found = find_mark(state, branch, marker)
    if found is None and ranges:
        with outside_branches(spark):
            type_name = column_type(spark, plain_name(table), column)
            condition = ranges_condition(spark, column, type_name, ranges)
            with marked(spark, marker, BACKFILL_PROPERTY):
                spark.sql(f"DELETE FROM {branch_name(table, branch)} WHERE {condition}")
        found = find_mark(table_state(spark, table), branch, marker)
    return {"snapshot_id": found}
