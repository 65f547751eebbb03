"""The difference of two sets of rows, as inserts, deletes and updates: DataFrames in, one out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

CHANGE_TYPE = "_change_type"
_SAME = frozenset(
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
    ]
)
_SIGN, _ID, _UPDATED = "__sign", "__id", "__updated"


def inserts(rows: DataFrame) -> DataFrame:
    """All rows as inserts."""
    return rows.withColumn(CHANGE_TYPE, sf.lit("insert"))


def diff_by_value(after: DataFrame, before: DataFrame, keys: Sequence[str]) -> DataFrame:
    """What came and what went, rows that are in both left out; paired by key where there is one."""
    return _paired(_cancelled(_signed(after, before)), keys)


def diff_by_lineage(after: DataFrame, before: DataFrame, position: int, keys: Sequence[str]) -> DataFrame:
    """Updates by row id, among the rows updated after a sequence number.

    What has no partner goes by value, since some writers give new ids to old rows.
    """
    data = [_column(name) for name in after.columns]
    updated = sf.col("_last_updated_sequence_number").alias(_UPDATED)
    came = after.select("*", sf.col("_row_id").alias(_ID), updated)
    went = before.select("*", sf.col("_row_id").alias(_ID))
    changed = came.where(sf.col(_UPDATED) > position).drop(_UPDATED)
    inserted = changed.join(went.select(_ID), _ID, "left_anti").select(data)
    deleted = went.join(came.select(_ID), _ID, "left_anti").select(data)
    return _updates(changed, went, after.columns).unionByName(diff_by_value(inserted, deleted, keys))


def _column(name: str) -> Column:
    return sf.col(f"`{name}`")


def _signed(after: DataFrame, before: DataFrame) -> DataFrame:
    """Rows that came as +1, rows that went as -1."""
    came, went = after.withColumn(_SIGN, sf.lit(1)), before.withColumn(_SIGN, sf.lit(-1))
    return came.unionByName(went)


def _comparable(name: str, data_type: DataType) -> Column:
    """The column in a form that has equality; maps have none in Spark, whatever order they are in."""
    column = _column(name)
    if isinstance(data_type, MapType) and not _has_map(data_type.valueType):
        return sf.array_sort(sf.map_entries(column))
    return sf.to_json(sf.struct(column)) if _has_map(data_type) else column


def _has_map(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return any(_has_map(field.dataType) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return _has_map(data_type.elementType)
    return isinstance(data_type, MapType) or data_type.typeName() == "variant"


def _cancelled(signed: DataFrame) -> DataFrame:
    """What is left of signed rows when equal ones of both signs have cancelled each other.

    One pass with one shuffle, where `EXCEPT ALL` both ways would read everything twice.
    """
    data = [field for field in signed.schema.fields if field.name != _SIGN]
    keys = [_comparable(field.name, field.dataType).alias(f"__k{at}") for at, field in enumerate(data)]
    # To carry along what the key says already would make Spark sort all rows instead of hashing them.
    carried = {at: field for at, field in enumerate(data) if not _is_its_key(field.dataType)}
    first = [sf.first(_column(field.name)).alias(f"__v{at}") for at, field in carried.items()]
    groups = signed.select("*", *keys).groupBy(*[f"__k{at}" for at in range(len(data))])
    left = groups.agg(sf.sum(_SIGN).alias("__net"), *first).where("__net <> 0")
    repeated = left.withColumn("__copy", sf.explode(sf.sequence(sf.lit(1), sf.abs("__net"))))
    sign = sf.signum("__net").cast("int").alias(_SIGN)
    values = [
        sf.col(f"__v{at}" if at in carried else f"__k{at}").alias(field.name) for at, field in enumerate(data)
    ]
    return repeated.select(*values, sign)


def _is_its_key(data_type: DataType) -> bool:
    """Whether equal values are the same: not so of 0.0 and -0.0, nor of text that is compared otherwise."""
    return data_type.simpleString() in _SAME or isinstance(data_type, DecimalType)


def _paired(signed: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Signed rows as inserts and deletes; by key, a delete and an insert make an update."""
    came = sf.col(_SIGN) > 0
    plain = sf.when(came, "insert").otherwise("delete")
    if not keys:
        return signed.withColumn(CHANGE_TYPE, plain).drop(_SIGN)
    columns = [_column(key) for key in keys]
    of_key = Window.partitionBy(*columns)
    nth = sf.row_number().over(Window.partitionBy(*columns, sf.col(_SIGN)).orderBy(sf.lit(0)))
    counterparts = sf.sum(sf.when(sf.col(_SIGN) > 0, 0).otherwise(1)).over(of_key)
    own = sf.sum(sf.when(sf.col(_SIGN) > 0, 1).otherwise(0)).over(of_key)
    partners = sf.when(came, counterparts).otherwise(own)
    counted = signed.select("*", nth.alias("__nth"), partners.alias("__partners"))
    image = sf.when(came, "update_after").otherwise("update_before")
    change = sf.when(sf.col("__nth") <= sf.col("__partners"), image).otherwise(plain)
    return counted.withColumn(CHANGE_TYPE, change).drop(_SIGN, "__nth", "__partners")


def _updates(changed: DataFrame, went: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Both images of rows whose values changed; an update that changed nothing is none."""
    types: dict[str, Any] = {field.name: field.dataType for field in changed.schema.fields}

    def image(rows: DataFrame, name: str) -> DataFrame:
        comparable = sf.struct(*[_comparable(column, types[column]).alias(column) for column in columns])
        values = sf.struct(*[_column(column) for column in columns])
        return rows.select(_ID, values.alias(name), comparable.alias(f"{name}_key"))

    joined = image(changed, "after").join(image(went, "before"), _ID)
    differing = joined.where(~sf.col("after_key").eqNullSafe(sf.col("before_key")))
    images = sf.array(
        sf.struct(sf.lit("update_before").alias("type"), sf.col("before").alias("row")),
        sf.struct(sf.lit("update_after").alias("type"), sf.col("after").alias("row")),
    )
    exploded = differing.select(sf.explode(images).alias("image"))
    return exploded.select("image.row.*", sf.col("image.type").alias(CHANGE_TYPE))
