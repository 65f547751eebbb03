"""Looking at the targets of statements, without a Spark job where that can be had."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from calve.spark.once.landing import Snapshot, TableState
from calve.spark.once.scope import STATEMENT_PROPERTY
from calve.spark.targets import dotted

_GONE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "NO_SUCH_TABLE", "NO_SUCH_NAMESPACE")
#: What Spark says of a metadata table of something that has none.
_NOT_ICEBERG = ("REQUIRES_SINGLE_PART_NAMESPACE", "UNSUPPORTED_FEATURE", "INVALID_EMPTY_LOCATION")
_BRANCH = "branch"
_MICROS = 1000
_NAMESPACE_AND_TABLE = 2


class NotIcebergError(Exception):
    """The target is a table of another kind: it keeps no marks."""


class Tables(Protocol):
    """Targets as a session sees them."""

    def state(self, parts: tuple[str, ...]) -> TableState | None:
        """The table of a name without a branch; None if there is none. Raises `NotIcebergError`."""

    def full_name(self, parts: tuple[str, ...]) -> str:
        """The name with its catalog and namespace."""


def tables_of(spark: Any, marked_by: str = STATEMENT_PROPERTY) -> Tables:
    """The way to the targets that a session has; `marked_by` is the property that markers are read from."""
    return SqlTables(spark, marked_by) if is_remote(spark) else JvmTables(spark, marked_by)


def is_remote(spark: Any) -> bool:
    """True for a session of Spark Connect, whose JVM cannot be reached."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@dataclass(frozen=True, slots=True)
class JvmTables:
    """By Iceberg's own API, in two calls."""

    spark: Any
    marked_by: str = STATEMENT_PROPERTY

    def state(self, parts: tuple[str, ...]) -> TableState | None:
        """The table of a name without a branch; None if there is none. Raises `NotIcebergError`."""
        from pyspark.errors import AnalysisException, IllegalArgumentException

        iceberg = self.spark._jvm.org.apache.iceberg
        try:
            table = iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, dotted(parts))
        except AnalysisException as error:
            _require_gone(error)
            return None
        except IllegalArgumentException as error:
            if "not an Iceberg table" not in str(error):
                raise
            raise NotIcebergError(dotted(parts)) from error
        metadata = json.loads(iceberg.TableMetadataParser.toJson(table.operations().current()))
        return state_from_metadata(self.full_name(parts), metadata, self.marked_by)

    def full_name(self, parts: tuple[str, ...]) -> str:
        """The name with its catalog and namespace."""
        found = self.spark._jvm.org.apache.iceberg.spark.Spark3Util.catalogAndIdentifier(
            self.spark._jsparkSession, dotted(parts)
        )
        identifier = found.identifier()
        namespace = tuple(map(str, identifier.namespace()))
        return dotted((str(found.catalog().name()), *namespace, str(identifier.name())))


def state_from_metadata(
    name: str, metadata: dict[str, Any], marked_by: str = STATEMENT_PROPERTY
) -> TableState:
    """The state that a table's metadata file describes."""
    refs = metadata.get("refs") or {}
    branches = {ref: found["snapshot-id"] for ref, found in refs.items() if found["type"] == _BRANCH}
    if metadata.get("current-snapshot-id", -1) not in (None, -1):
        branches.setdefault("main", metadata["current-snapshot-id"])
    snapshots = tuple(
        Snapshot(
            id=found["snapshot-id"],
            parent=found.get("parent-snapshot-id"),
            timestamp_ms=found["timestamp-ms"],
            marker=(found.get("summary") or {}).get(marked_by),
            sequence=found.get("sequence-number"),
        )
        for found in metadata.get("snapshots") or ()
    )
    return TableState(name, snapshots, branches)


@dataclass(frozen=True, slots=True)
class SqlTables:
    """By the metadata tables."""

    spark: Any
    marked_by: str = STATEMENT_PROPERTY

    def state(self, parts: tuple[str, ...]) -> TableState | None:
        """The table of a name without a branch; None if there is none. Raises `NotIcebergError`."""
        full = self._full_parts(parts)
        snapshots = self._rows(
            f"SELECT snapshot_id, parent_id, unix_micros(committed_at), summary['{self.marked_by}'] "
            f"FROM {dotted((*full, 'snapshots'))}",
            full,
        )
        if snapshots is None:
            return None
        refs = self._rows(f"SELECT name, snapshot_id, type FROM {dotted((*full, 'refs'))}", full) or []
        return TableState(
            dotted(full),
            tuple(Snapshot(key, parent, at // _MICROS, marker) for key, parent, at, marker in snapshots),
            {name: key for name, key, kind in refs if str(kind).lower() == _BRANCH},
        )

    def _rows(self, query: str, parts: tuple[str, ...]) -> list[Any] | None:
        from pyspark.errors import AnalysisException

        try:
            return list(self.spark.sql(query).collect())
        except AnalysisException as error:
            if str(error.getCondition()).startswith(_NOT_ICEBERG) or self._exists(parts):
                raise NotIcebergError(dotted(parts)) from error
            _require_gone(error)
            return None

    def _exists(self, parts: tuple[str, ...]) -> bool:
        return bool(self.spark.catalog.tableExists(dotted(parts)))

    def full_name(self, parts: tuple[str, ...]) -> str:
        """The name with its catalog and namespace."""
        return dotted(self._full_parts(parts))

    def _full_parts(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """With the catalog and the namespace, as Spark fills them in."""
        if len(parts) > _NAMESPACE_AND_TABLE:
            return parts
        catalog = str(self.spark.catalog.currentCatalog())
        if len(parts) > 1:
            return (catalog, *parts)
        return (catalog, *str(self.spark.catalog.currentDatabase()).split("."), *parts)


def _require_gone(error: Any) -> None:
    if not str(error.getCondition()).startswith(_GONE):
        raise error
