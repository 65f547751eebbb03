"""Source tables: found through their catalog, with the metadata that is current at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NoSuchIcebergTableError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnauthorizedError,
)
from pyiceberg.io import FileIO, load_file_io

from calve.errors import CorruptError, NotFoundError, UsageError
from calve.lake.catalogs import Lake, TableName
from calve.lake.metadata import TableMetadata
from calve.lake.retry import call
from calve.lake.storage import read_json

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as it was when it was opened. Nothing here ever writes to it."""

    lake: Lake
    name: TableName
    metadata: TableMetadata
    io: FileIO

    @property
    def uuid(self) -> str:
        """What identifies the table through renames."""
        return self.metadata.uuid

    def refresh(self) -> SourceTable:
        """The table as it is now; this same object where nothing happened."""
        location, io = locate_table(self.lake, self.name)
        if location == self.metadata.metadata_location:
            return self
        return read_table(self.lake, self.name, location, io)


def open_table(lake: Lake, name: str) -> SourceTable:
    """A table by its name.

    Raises TABLE_NOT_FOUND, TABLE_NOT_ICEBERG, TABLE_NOT_READABLE, TABLE_ENCRYPTED, FORMAT_TOO_NEW
    or METADATA_CORRUPT, and CATALOG_UNREACHABLE when the catalog does not answer.
    """
    resolved = lake.resolve(name)
    location, io = locate_table(lake, resolved)
    return read_table(lake, resolved, location, io)


def read_table(lake: Lake, name: TableName, location: str, io: FileIO | None) -> SourceTable:
    """The table whose metadata file is there; `io` is what its catalog hands out to read it with, or None.

    Raises as `open_table` does.
    """
    reader = io or load_file_io(lake.catalog(name.catalog).properties, location)
    raw = read_json(reader, location)
    if not isinstance(raw, dict) or not {"format-version", "location"} <= raw.keys():
        raise CorruptError.damaged(location, ValueError("it is not the metadata of an Iceberg table"))
    metadata = TableMetadata(raw, location)
    metadata.refuse_unsupported(str(name))
    return SourceTable(lake, name, metadata, reader)


def locate_table(lake: Lake, name: TableName) -> tuple[str, FileIO | None]:
    """Where the table's metadata is, and the FileIO to read it with if the catalog hands one out.

    Raises as `open_table` does where the catalog has no such table, or does not answer.
    """
    catalog = lake.catalog(name.catalog)
    try:
        return call(partial(_ask, catalog, name), f"catalog {name.catalog}")
    except NoSuchIcebergTableError as error:
        raise not_iceberg(name) from error
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        raise not_found(name) from error
    except (ForbiddenError, UnauthorizedError) as error:
        raise UsageError(
            "TABLE_NOT_READABLE", f"{name} may not be read: {error}", "ask for read access to the table"
        ) from error


def _ask(catalog: Catalog, name: TableName) -> tuple[str, FileIO | None]:
    if is_sql(catalog):
        return _ask_sql(catalog, name), None
    table = catalog.load_table(name.identifier)
    return table.metadata_location, table.io


def is_sql(catalog: Catalog) -> TypeGuard[SqlCatalog]:
    """Whether a catalog keeps its tables in a database that can be asked directly."""
    return type(catalog).__name__ == "SqlCatalog"


def _ask_sql(catalog: SqlCatalog, name: TableName) -> str:
    """One indexed query: a SQL catalog knows the location without anyone parsing the metadata."""
    from sqlalchemy import text

    query = text(
        "SELECT * FROM iceberg_tables"
        " WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :table"
    )
    keys: dict[str, Any] = {
        "catalog": catalog.name,
        "namespace": Catalog.namespace_to_string(name.namespace),
        "table": name.table,
    }
    with catalog.engine.connect() as connection:
        row = connection.execute(query, keys).mappings().first()
    if row is None:
        raise NoSuchTableError(str(name))
    location = location_in(row)
    if location is None:
        raise NoSuchIcebergTableError(str(name))
    return location


def location_in(row: Mapping[Any, Any]) -> str | None:
    """The metadata location in a row of a SQL catalog; None for a view, or for what is no Iceberg table."""
    location = row["metadata_location"]
    return str(location) if location and row.get("iceberg_type") != "VIEW" else None


def not_found(name: TableName) -> NotFoundError:
    """The error for a table that is not there."""
    return NotFoundError(
        "TABLE_NOT_FOUND", f"there is no table {name}", "check the name, and that it is in this catalog"
    )


def not_iceberg(name: TableName) -> UsageError:
    """The error for what is there and is no Iceberg table."""
    return UsageError(
        "TABLE_NOT_ICEBERG", f"{name} is not an Iceberg table", "give the name of an Iceberg table"
    )
