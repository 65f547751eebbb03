"""A branch against main: what would change for readers if it were published."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from calve.backfill.spark.audits import ask
from calve.backfill.spark.grouping import Groups, differing_rows, groups_of
from calve.backfill.spark.options import CompareOptions
from calve.backfill.spark.report import Group, Moves, Report, Samples, SchemaChange
from calve.backfill.spark.targets import head_of, outside_branches, plain_name, table_state
from calve.backfill.spark.thresholds import find_failures
from calve.backfill.spark.totals import total_of
from calve.errors import UsageError
from calve.spark.once.landing import MAIN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_IDENTIFIER = "identifier-fields"


def compare(spark: Any, table: str, branch: str, options: CompareOptions) -> Report:
    """Compare a branch with main, as both are now. Raises BRANCH_NOT_FOUND, COLUMN_NOT_FOUND.

    Rows are read only of partitions that have not the same files on both sides.
    """
    state = table_state(spark, table)
    main, head = head_of(state, MAIN), head_of(state, branch)
    with outside_branches(spark):
        current = spark.table(plain_name(table)).where("FALSE")
        keys = _keys(spark, table, options, current.columns)
        groups = groups_of(spark, table, options)
        condition = differing_rows(spark, table, main, head)
        found: dict[str, Group] = {}
        samples = Samples()
        if condition is not None:
            sides = [
                _side(spark, table, ref, snapshot, current).where(condition)
                for ref, snapshot in ((MAIN, main), (branch, head))
            ]
            found, samples = _differences(sides[0], sides[1], groups, keys, options)
        schema = _schema_changes(_pinned(spark, table, head), current)
        audits = tuple(ask(spark, audit, table, branch) for audit in options.audits)
    total = total_of(found.values())
    return Report(
        table=table,
        branch=branch,
        main_snapshot_id=main,
        branch_snapshot_id=head,
        group_by=options.group_by.value,
        keys=keys,
        total=total,
        groups=_sorted(found.values())[: options.max_groups],
        groups_not_shown=max(0, len(found) - options.max_groups),
        samples=samples,
        schema_changes=schema,
        audits=audits,
        failures=find_failures(options.thresholds, total, schema, audits, has_keys=bool(keys)),
    )


def _keys(spark: Any, table: str, options: CompareOptions, columns: Sequence[str]) -> tuple[str, ...]:
    keys = _identifier_fields(spark, table) if options.keys is None else options.keys
    for key in keys:
        if key not in columns:
            raise UsageError(
                "COLUMN_NOT_FOUND",
                f"{table} has no key column {key!r}; there are {', '.join(columns)}",
                "name columns of the target",
            )
    return keys


def _identifier_fields(spark: Any, table: str) -> tuple[str, ...]:
    rows = spark.sql(f"SHOW TBLPROPERTIES {plain_name(table)}").collect()
    text = next((row["value"] for row in rows if row["key"] == _IDENTIFIER), "[]")
    return tuple(name for name in text.strip("[]").split(",") if name)


def _pinned(spark: Any, table: str, snapshot: int | None) -> DataFrame | None:
    if snapshot is None:
        return None
    rows: DataFrame = spark.sql(f"SELECT * FROM {plain_name(table)} VERSION AS OF {snapshot}")
    return rows


def _side(spark: Any, table: str, ref: str, snapshot: int | None, current: DataFrame) -> DataFrame:
    """The rows of a side, in the columns that the table has now."""
    pinned = _pinned(spark, table, snapshot)
    if pinned is None:
        return current
    if _types(pinned) == _types(current):
        return pinned
    # By the branch's name Iceberg reads with the present schema, renamed columns and all.
    rows: DataFrame = spark.sql(f"SELECT * FROM {plain_name(table)} VERSION AS OF '{ref}'")
    return rows


def _types(rows: DataFrame) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in rows.schema.fields}


def _schema_changes(written: DataFrame | None, current: DataFrame) -> tuple[SchemaChange, ...]:
    if written is None:
        return ()
    before, now = _types(written), _types(current)
    return tuple(
        SchemaChange(name, now.get(name), before.get(name))
        for name in {**now, **before}
        if now.get(name) != before.get(name)
    )


def _differences(
    main: DataFrame, branch: DataFrame, groups: Groups, keys: Sequence[str], options: CompareOptions
) -> tuple[dict[str, Group], Samples]:
    from calve.backfill.spark.rows import count_sides, row_difference

    sides = count_sides(main, branch, groups)
    with row_difference(main, branch, keys) as difference:
        moves = difference.moves(groups)
        samples = difference.samples(options.samples)
    found = {text: Group(groups.show(text), *both, moves.get(text, Moves())) for text, both in sides.items()}
    return found, samples


def _sorted(groups: Iterable[Group]) -> tuple[Group, ...]:
    """Groups in which rows differ first."""
    return tuple(sorted(groups, key=lambda found: (found.moves == Moves(), json.dumps(found.values))))
