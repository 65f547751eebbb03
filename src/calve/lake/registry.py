"""ICDC tables in the catalog: registered, found again, and dropped without touching data files."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.io import load_file_io

from calve.errors import UsageError
from calve.lake.catalogs import Lake, TableName
from calve.lake.listing import delete_folder
from calve.lake.model import Changes
from calve.lake.retry import call

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog


def register(lake: Lake, name: TableName, metadata_location: str) -> None:
    """Make a table known under its name; a second time, and by several at once, is fine."""
    catalog = lake.catalog(name.catalog)
    call(partial(_register, catalog, name, metadata_location), f"catalog {name.catalog}")


def _register(catalog: Catalog, name: TableName, metadata_location: str) -> None:
    try:
        _enter(catalog, name, metadata_location)
    except NoSuchNamespaceError:
        _create_namespace(catalog, name.namespace)
        _enter(catalog, name, metadata_location)
    except TableAlreadyExistsError:
        if catalog.load_table(name.identifier).metadata_location != metadata_location:
            # Somebody wrote to it: hand out the change as it was captured.
            catalog.drop_table(name.identifier)
            _enter(catalog, name, metadata_location)


def _enter(catalog: Catalog, name: TableName, metadata_location: str) -> None:
    if type(catalog).__name__ == "SqlCatalog":
        _enter_sql(catalog, name, metadata_location)  # type: ignore[arg-type]
    else:
        catalog.register_table(name.identifier, metadata_location)


def _enter_sql(catalog: SqlCatalog, name: TableName, metadata_location: str) -> None:
    """What the catalog's `register_table` does, without reading and parsing the table it entered."""
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import insert
    from sqlalchemy.exc import IntegrityError

    if not catalog.namespace_exists(name.namespace):
        raise NoSuchNamespaceError(str(name))
    row = catalog._create_table_row(
        Catalog.namespace_to_string(name.namespace), name.table, metadata_location
    )
    try:
        with catalog.engine.begin() as connection:
            connection.execute(insert(IcebergTables).values(**row))
    except IntegrityError as error:
        raise TableAlreadyExistsError(str(name)) from error


def _create_namespace(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    from sqlalchemy.exc import IntegrityError

    # A SQL catalog looks, and then writes: of several at once, the later ones run into its key.
    with suppress(NamespaceAlreadyExistsError, IntegrityError):
        catalog.create_namespace(namespace)


def drop_changes(lake: Lake, changes: Changes) -> None:
    """Forget the ICDC tables of a change and remove their own metadata files; done twice is fine."""
    catalog_name = lake.resolve(changes.table).catalog
    for name, location in (
        (changes.icdc_table, changes.icdc_metadata_location),
        (changes.removed_table, changes.removed_metadata_location),
    ):
        if name is not None:
            unregister(lake, lake.resolve(name))
        if location is not None:
            remove_metadata(lake, catalog_name, location)


def unregister(lake: Lake, name: TableName) -> None:
    """Drop a table's entry in the catalog. Never purges: the data files are another table's."""
    catalog = lake.catalog(name.catalog)
    try:
        call(partial(catalog.drop_table, name.identifier), f"catalog {name.catalog}")
    except (NoSuchTableError, NoSuchNamespaceError):
        return


def remove_metadata(lake: Lake, catalog_name: str, metadata_location: str) -> None:
    """Remove the folder that holds an ICDC table's own metadata."""
    folder, _, name = metadata_location.rpartition("/metadata/")
    if not folder or not name.endswith(".metadata.json"):
        raise UsageError(
            "NOT_AN_ICDC_TABLE",
            f"{metadata_location} is not the metadata of an ICDC table",
            "give a capture's own",
        )
    delete_folder(load_file_io(lake.catalog(catalog_name).properties, metadata_location), folder)
