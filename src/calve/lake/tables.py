"""Source tables: found through their catalog, with the metadata that is current at that moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

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
        location, io = _locate(self.lake, self.name)
        if location == self.metadata.metadata_location:
            return self
        return _read(self.lake, self.name, location, io)


def open_table(lake: Lake, name: str) -> SourceTable:
    """A table by its name.

    Raises TABLE_NOT_FOUND, TABLE_NOT_ICEBERG, TABLE_NOT_READABLE, TABLE_ENCRYPTED, FORMAT_TOO_NEW
    or METADATA_CORRUPT, and CATALOG_UNREACHABLE when the catalog does not answer.
    """
    resolved = lake.resolve(name)
    location, io = _locate(lake, resolved)
    return _read(lake, resolved, location, io)


def _read(lake: Lake, name: TableName, location: str, io: FileIO | None) -> SourceTable:
    reader = io or load_file_io(lake.catalog(name.catalog).properties, location)
    raw = read_json(reader, location)
    if not isinstance(raw, dict) or not {"format-version", "location"} <= raw.keys():
        raise CorruptError.damaged(location, ValueError("it is not the metadata of an Iceberg table"))
    metadata = TableMetadata(raw, location)
    metadata.refuse_unsupported(str(name))
    return SourceTable(lake, name, metadata, reader)


def _locate(lake: Lake, name: TableName) -> tuple[str, FileIO | None]:
    """Where the table's metadata is, and the FileIO to read it with if the catalog hands one out."""
    catalog = lake.catalog(name.catalog)
    try:
        return call(partial(_ask, catalog, name), f"catalog {name.catalog}")
    except NoSuchIcebergTableError as error:
        raise _not_iceberg(name) from error
    except (NoSuchTableError, NoSuchNamespaceError) as error:
        raise NotFoundError(
            "TABLE_NOT_FOUND", f"there is no table {name}", "check the name, and that it is in this catalog"
        ) from error
    except (ForbiddenError, UnauthorizedError) as error:
        raise UsageError(
            "TABLE_NOT_READABLE", f"{name} may not be read: {error}", "ask for read access to the table"
        ) from error


def _ask(catalog: Catalog, name: TableName) -> tuple[str, FileIO | None]:
    if type(catalog).__name__ == "SqlCatalog":
        return _ask_sql(catalog, name), None  # type: ignore[arg-type]
    table = catalog.load_table(name.identifier)
    return table.metadata_location, table.io


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
    if row.get("iceberg_type") == "VIEW" or not row["metadata_location"]:
        raise NoSuchIcebergTableError(str(name))
    return str(row["metadata_location"])


def _not_iceberg(name: TableName) -> UsageError:
    return UsageError(
        "TABLE_NOT_ICEBERG", f"{name} is not an Iceberg table", "give the name of an Iceberg table"
    )
