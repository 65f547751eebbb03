"""Iceberg's Java API by py4j, for what SQL cannot do: equality deletes, defaults, files added by hand."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class JavaTable:
    """A table as the Java API sees it; loaded anew for each use, so that it is never stale."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name
        gateway: Any = spark.sparkContext._gateway
        self._gateway = gateway
        self._iceberg = gateway.jvm.org.apache.iceberg

    def load(self) -> Any:
        """The Java object of the table."""
        return self._iceberg.spark.Spark3Util.loadIcebergTable(self._spark._jsparkSession, self._name)

    # Rows that are deleted by value

    def delete_equal(
        self,
        rows: Sequence[Mapping[str, Any]],
        partition: Mapping[str, Any] | None = None,
        like: Any = None,
        file_format: str = "PARQUET",
    ) -> None:
        """Commit an equality delete: rows that agree with one of these in all of its columns are gone.

        It counts in `partition` of the current spec, or in the partition of the data file `like`.
        """
        table = self.load()
        deletes = table.newRowDelta()
        deletes.addDeletes(
            self._equality_deletes(table, rows, self._place(table, partition, like), file_format)
        )
        deletes.commit()

    def upsert(self, row: Mapping[str, Any], key: str) -> None:
        """Commit a row together with the equality delete of older ones with its key, as Flink does.

        Both are in the partition that the row belongs to.
        """
        table = self.load()
        record = self._record(table.schema().asStruct(), row)
        place = self._place_of(table, record)
        writer = self._builder(table, "PARQUET").build().newDataWriter(self._output(table, "PARQUET"), *place)
        writer.write(record)
        writer.close()
        delta = table.newRowDelta()
        delta.addRows(writer.toDataFile())
        delta.addDeletes(self._equality_deletes(table, [{key: row[key]}], place, "PARQUET"))
        delta.commit()

    def _place_of(self, table: Any, record: Any) -> tuple[Any, Any]:
        """The current partition spec, and the partition in it that a row belongs to."""
        spec, schema = table.spec(), table.schema()
        if not spec.isPartitioned():
            return spec, None
        key = self._iceberg.PartitionKey(spec, schema)
        key.partition(self._iceberg.data.InternalRecordWrapper(schema.asStruct()).wrap(record))
        return spec, key

    def _place(self, table: Any, partition: Mapping[str, Any] | None, like: Any) -> tuple[Any, Any]:
        """A partition spec, and a partition of it."""
        if like is not None:
            spec = table.specs().get(like.specId())
            return spec, like.partition() if spec.isPartitioned() else None
        spec = table.spec()
        return spec, None if partition is None else self._record(spec.partitionType(), partition)

    def _equality_deletes(
        self, table: Any, rows: Sequence[Mapping[str, Any]], place: tuple[Any, Any], file_format: str
    ) -> Any:
        keys = table.schema().select(self._strings(list(rows[0])))
        builder = self._builder(table, file_format).equalityFieldIds(self._ids(keys))
        factory = builder.equalityDeleteRowSchema(keys).build()
        writer = factory.newEqualityDeleteWriter(self._output(table, file_format), *place)
        for row in rows:
            writer.write(self._record(keys.asStruct(), row))
        writer.close()
        return writer.toDeleteFile()

    def delete_positions(self, positions: Mapping[str, Sequence[int]]) -> None:
        """Commit one position delete file (format 2) over data files of one partition."""
        table = self.load()
        like = next(file for file in self.data_files() if file.location() in positions)
        factory = self._builder(table, "PARQUET").build()
        writer = factory.newPositionDeleteWriter(
            self._output(table, "PARQUET"), *self._place(table, None, like)
        )
        for path in sorted(positions):
            for position in positions[path]:
                writer.write(self._iceberg.deletes.PositionDelete.create().set(path, position))
        writer.close()
        deletes = table.newRowDelta()
        deletes.addDeletes(writer.toDeleteFile())
        deletes.commit()

    # Files that are added and removed by hand

    def data_files(self) -> list[Any]:
        """The live data files, as objects that can be removed or added again."""
        tasks = self.load().newScan().includeColumnStats().planFiles().iterator()
        found = []
        while tasks.hasNext():
            found.append(tasks.next().file())
        return found

    def append_file(self, data_file: Any) -> None:
        """Add a data file that exists already."""
        append = self.load().newAppend()
        append.appendFile(data_file)
        append.commit()

    def remove_file(self, data_file: Any) -> None:
        """Remove one data file."""
        delete = self.load().newDelete()
        delete.deleteFile(data_file)
        delete.commit()

    def replace_files(self, removed: Sequence[Any], added: Sequence[Any]) -> None:
        """Commit under the name `overwrite` whatever it does."""
        overwrite = self.load().newOverwrite()
        for file in removed:
            overwrite.deleteFile(file)
        for file in added:
            overwrite.addFile(file)
        overwrite.commit()

    # Schema

    @property
    def types(self) -> Any:
        """Iceberg's types."""
        return self._iceberg.types.Types

    def update_column(self, name: str, wider: Any) -> None:
        """Promote the type of a column."""
        update = self.load().updateSchema()
        update.updateColumn(name, wider)
        update.commit()

    def add_column_with_default(self, name: str, type_name: str, default: Any) -> None:
        """Add a column whose value in older files is `default` (format 3)."""
        kinds = {"int": self.types.IntegerType, "string": self.types.StringType}
        kind = kinds[type_name].get()
        literal = self._iceberg.expressions.Expressions.lit(default)
        update = self.load().updateSchema()
        update.addColumn(name, kind, "", literal)
        update.commit()

    # Py4J has no arrays, records or paths of its own

    def _builder(self, table: Any, file_format: str) -> Any:
        factory = getattr(self._iceberg.data, "GenericFileWriterFactory$Builder")
        kind = self._iceberg.FileFormat.valueOf(file_format)
        return factory(table).dataFileFormat(kind).deleteFileFormat(kind)

    def _output(self, table: Any, file_format: str) -> Any:
        path = f"{table.location()}/data/{uuid.uuid4()}.{file_format.lower()}"
        return self._iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(table.io().newOutputFile(path))

    def _record(self, struct: Any, row: Mapping[str, Any]) -> Any:
        """A Java record from JSON: py4j by itself would make each small number an Integer."""
        ids = {field.name(): str(field.fieldId()) for field in struct.fields()}
        values = json.dumps({ids[name]: value for name, value in row.items() if value is not None})
        return self._iceberg.SingleValueParser.fromJson(struct, values)

    def _ids(self, schema: Any) -> Any:
        columns = list(schema.columns())
        ids = self._gateway.new_array(self._gateway.jvm.int, len(columns))
        for at, column in enumerate(columns):
            ids[at] = column.fieldId()
        return ids

    def _strings(self, values: Sequence[str]) -> Any:
        array = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(values))
        for at, value in enumerate(values):
            array[at] = value
        return array
