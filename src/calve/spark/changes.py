"""The row-level view of a change: each row with what became of it.

    changes(spark, capture)   →   the table's columns, and `_change_type`:
                                  insert, delete, update_before, update_after

Row lineage tells updates from inserts and deletes where it can be trusted; otherwise rows that are
in both states are cancelled by their values. Identifier columns pair what is left by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as sf

from calve.errors import UsageError
from calve.lake.model import Changes, LogStep, Mode
from calve.spark.row_diff import diff_by_lineage, diff_by_value, inserts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHANGE_ORDINAL = "_change_ordinal"
COMMIT_SNAPSHOT_ID = "_commit_snapshot_id"


class HasChanges(Protocol):
    """Something that holds the changes of one table, such as a capture of the ledger."""

    @property
    def changes(self) -> Changes:
        """The changes."""


def changes(
    spark: SparkSession, capture: Changes | HasChanges, identifier_columns: Sequence[str] | None = None
) -> DataFrame:
    """The rows of a change. Log captures add `_change_ordinal` and `_commit_snapshot_id`.

    `identifier_columns` are the key of the table's rows; those given at capture count if none are.
    """
    found = capture if isinstance(capture, Changes) else capture.changes
    keys = tuple(found.identifier_columns if identifier_columns is None else identifier_columns)
    after = _after(spark, found)
    _refuse_unknown(keys, after)
    if found.mode is Mode.LOG:
        return _log(spark, found, keys)
    if found.mode is Mode.APPEND:
        return inserts(after)
    before = _before(spark, found) if found.removed_metadata_location else after.limit(0)
    if found.lineage is not None:
        return diff_by_lineage(after, before, found.lineage["sequence_number"], keys)
    return diff_by_value(after, before, keys)


def _after(spark: SparkSession, capture: Changes, step: LogStep | None = None) -> DataFrame:
    return _read(spark, capture.icdc_table or capture.icdc_metadata_location, step)


def _before(spark: SparkSession, capture: Changes, step: LogStep | None = None) -> DataFrame:
    return _read(spark, capture.removed_table or capture.removed_metadata_location, step)


def _read(spark: SparkSession, where: str | None, step: LogStep | None) -> DataFrame:
    """An ICDC table by its name or, where it was not registered, by its metadata file."""
    reader = spark.read.format("iceberg")
    if step is not None:
        reader = reader.option("versionAsOf", step.snapshot_id)
    return reader.load(where)


def _refuse_unknown(keys: Sequence[str], rows: DataFrame) -> None:
    for key in keys:
        if key not in rows.columns:
            raise UsageError(
                "COLUMN_NOT_FOUND",
                f"there is no identifier column {key!r}; there are {', '.join(rows.columns)}",
                "check the name",
            )


def _log(spark: SparkSession, capture: Changes, keys: Sequence[str]) -> DataFrame:
    parts = []
    for step in capture.steps:
        after = _after(spark, capture, step)
        before = _before(spark, capture, step) if step.removed_files else after.limit(0)
        parts.append(_numbered(diff_by_value(after, before, keys), step.ordinal, step.snapshot_id))
    if not parts:
        return _numbered(inserts(_after(spark, capture)), 0, 0)
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)


def _numbered(rows: DataFrame, ordinal: int, snapshot_id: int) -> DataFrame:
    number = sf.lit(snapshot_id).cast("long").alias(COMMIT_SNAPSHOT_ID)
    return rows.select("*", sf.lit(ordinal).alias(CHANGE_ORDINAL), number)
