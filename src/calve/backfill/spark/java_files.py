"""The files of a table's snapshots, read from its manifests by Iceberg itself."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from calve.lake.values import partition_json
from calve.spark.targets import dotted, parse_name


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition, as names and readable values; `layout` is what it is a partition by."""

    layout: tuple[tuple[str, str], ...]
    key: str


def partition_key(values: Mapping[str, Any]) -> str:
    """A partition's names and readable values, as `Changes.partitions` has them, as one text."""
    return json.dumps(dict(values), sort_keys=True)


@dataclass(frozen=True, slots=True)
class Difference:
    """The files that are live in one of two snapshots only."""

    added_data: tuple[Any, ...] = ()
    removed_data: tuple[Any, ...] = ()
    added_deletes: tuple[Any, ...] = ()
    removed_deletes: tuple[Any, ...] = ()

    @property
    def files(self) -> tuple[Any, ...]:
        """All of them."""
        return (*self.added_data, *self.removed_data, *self.added_deletes, *self.removed_deletes)

    def where(self, is_wanted: Callable[[Any], bool]) -> Difference:
        """Those of the files that are wanted."""
        return Difference(
            tuple(filter(is_wanted, self.added_data)),
            tuple(filter(is_wanted, self.removed_data)),
            tuple(filter(is_wanted, self.added_deletes)),
            tuple(filter(is_wanted, self.removed_deletes)),
        )


class JavaFiles:
    """A table as it was when this was made."""

    def __init__(self, spark: Any, table: str) -> None:
        self._jvm = spark._jvm
        self._iceberg = spark._jvm.org.apache.iceberg
        name = dotted(parse_name(table))
        self.table = self._iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
        self._partitions: dict[tuple[int, str], Partition] = {}

    def difference(self, before: int | None, after: int | None) -> Difference:
        """What is live in one snapshot only; None is a table without any. Shared manifests stay closed."""
        sets = self._iceberg.util.DataFileSet, self._iceberg.util.DeleteFileSet
        added, removed = self._two_sided(before, after, sets[0], self._data_manifests, self._read_data)
        new, old = self._two_sided(before, after, sets[1], self._delete_manifests, self._read_deletes)
        oldest = self._oldest_data(after)
        # Iceberg lets go of deletes that are older than all data: they delete nothing.
        gone = [file for file in old if oldest is not None and file.dataSequenceNumber() >= oldest]
        return Difference(tuple(added), tuple(removed), tuple(new), tuple(gone))

    def has_snapshot(self, snapshot_id: int) -> bool:
        """Whether the table still has a snapshot."""
        return self.table.snapshot(snapshot_id) is not None

    def metadata_builder(self, base: Any) -> Any:
        """What makes new metadata of the table out of its present one."""
        return self._iceberg.TableMetadata.buildFrom(base)

    def partition(self, file: Any) -> Partition:
        """The partition of a data or delete file."""
        struct = file.partition()
        key = (int(file.specId()), str(struct))
        if key not in self._partitions:
            self._partitions[key] = self._to_partition(key[0], struct)
        return self._partitions[key]

    def _to_partition(self, spec_id: int, struct: Any) -> Partition:
        spec = self.table.specs().get(spec_id)
        layout: list[tuple[str, str]] = []
        values: dict[str, Any] = {}
        for at, field in enumerate(spec.fields()):
            name, transform = str(field.name()), str(field.transform().toString())
            if transform == "void":
                continue
            source = str(spec.schema().findType(field.sourceId()))
            layout.append((name, transform))
            values[name] = partition_json(transform, source, self._plain(struct.get(at)))
        return Partition(tuple(layout), partition_key(values))

    def _plain(self, value: Any) -> Any:
        """A value of a partition in the form in which manifests have it."""
        if value is None or isinstance(value, bool | int | float | str | Decimal | bytes):
            return value
        if value.getClass().getName() == "java.util.UUID":
            return uuid.UUID(str(value)).bytes
        if self._jvm.java.nio.ByteBuffer.wrap(b"").getClass().getSuperclass().isInstance(value):
            return bytes(self._iceberg.util.ByteBuffers.toByteArray(value))
        return str(value)

    def _two_sided(
        self, before: int | None, after: int | None, sets: Any, manifests: Any, read: Any
    ) -> tuple[list[Any], list[Any]]:
        collections = self._iceberg.relocated.com.google.common.collect
        old, new = manifests(before), manifests(after)
        went, came = sets.create(), sets.create()
        for into, own, others in ((went, old, new), (came, new, old)):
            for path in own.keys() - others.keys():
                reader = read(own[path])
                collections.Iterables.addAll(into, reader)
                reader.close()
        return list(collections.Sets.difference(came, went)), list(collections.Sets.difference(went, came))

    def _data_manifests(self, snapshot_id: int | None) -> dict[str, Any]:
        if snapshot_id is None:
            return {}
        found = self.table.snapshot(snapshot_id).dataManifests(self.table.io())
        return {str(manifest.path()): manifest for manifest in found}

    def _delete_manifests(self, snapshot_id: int | None) -> dict[str, Any]:
        if snapshot_id is None:
            return {}
        found = self.table.snapshot(snapshot_id).deleteManifests(self.table.io())
        return {str(manifest.path()): manifest for manifest in found}

    def _read_data(self, manifest: Any) -> Any:
        return self._iceberg.ManifestFiles.read(manifest, self.table.io(), self.table.specs())

    def _read_deletes(self, manifest: Any) -> Any:
        return self._iceberg.ManifestFiles.readDeleteManifest(manifest, self.table.io(), self.table.specs())

    def _oldest_data(self, snapshot_id: int | None) -> int | None:
        numbers = [int(found.minSequenceNumber()) for found in self._data_manifests(snapshot_id).values()]
        return min(numbers, default=None)
