"""Where the metadata of many tables is: one question to each catalog that can answer for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO

from calve.errors import CalveError, FailedError
from calve.lake.catalogs import Lake, TableName
from calve.lake.retry import call
from calve.lake.storage import map_files
from calve.lake.tables import (
    SourceTable,
    is_sql,
    locate_table,
    location_in,
    not_found,
    not_iceberg,
    read_table,
)

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

T = TypeVar("T")

#: How many tables one statement asks for.
AT_ONCE = 500
#: How many questions are under way at a time to catalogs that answer for one table each.
THREADS = 4


@dataclass(frozen=True, slots=True)
class Located:
    """Where the metadata of a table was when its catalog was asked."""

    lake: Lake
    name: TableName
    location: str
    io: FileIO | None

    def open(self) -> SourceTable | CalveError:
        """The table as it was then, or why it cannot be read."""
        return guarded(lambda: read_table(self.lake, self.name, self.location, self.io), str(self.name))


def guarded(ask: Callable[[], T], what: str) -> T | CalveError:
    """What a question gives, or why it gives nothing; `what` names the thing that is asked about."""
    try:
        return ask()
    except CalveError as error:
        return error
    except Exception as error:  # noqa: BLE001 - catalogs and stores have errors of their own; one hides no other
        return FailedError(
            "TABLE_NOT_READABLE",
            f"{what} cannot be read: {type(error).__name__}: {error}",
            "check the catalog and the storage of the table",
        )


Places = Mapping[TableName, Located | CalveError]


def locate_tables(lake: Lake, names: Iterable[TableName]) -> Places:
    """Where each table is, or why that cannot be told: one table that is gone hides no other."""
    by_catalog: dict[str, list[TableName]] = {}
    for name in dict.fromkeys(names):
        by_catalog.setdefault(name.catalog, []).append(name)
    found: dict[TableName, Located | CalveError] = {}
    for catalog, wanted in by_catalog.items():
        places = guarded(partial(_locate, lake, catalog, wanted), f"catalog {catalog}")
        found |= dict.fromkeys(wanted, places) if isinstance(places, CalveError) else places
    return found


def open_tables(
    lake: Lake,
    names: Iterable[str],
    read: Callable[[Located], SourceTable | CalveError] = Located.open,
) -> Mapping[str, SourceTable | CalveError]:
    """The tables of some names, each opened once, or why it cannot be; `read` may know some already."""
    resolved = {name: try_resolve(lake, name) for name in dict.fromkeys(names)}
    places = locate_tables(lake, [found for found in resolved.values() if isinstance(found, TableName)])
    located = [place for place in places.values() if isinstance(place, Located)]
    opened = map_files(read, located, located[0].location if located else "")
    tables = {place.name: table for place, table in zip(located, opened, strict=True)}
    return {
        name: found if isinstance(found, CalveError) else tables.get(found) or _error(places[found])
        for name, found in resolved.items()
    }


def try_resolve(lake: Lake, name: str) -> TableName | CalveError:
    """The full name of a table, or why there is none."""
    return guarded(lambda: lake.resolve(name), name)


def _error(place: Located | CalveError) -> CalveError:
    assert isinstance(place, CalveError)
    return place


def _locate(lake: Lake, catalog_name: str, wanted: Sequence[TableName]) -> Places:
    catalog = lake.catalog(catalog_name)
    if is_sql(catalog):
        rows = call(partial(_rows, catalog, wanted), f"catalog {catalog.name}")
        return {name: _from_row(lake, name, rows.get(_key(name))) for name in wanted}
    with ThreadPoolExecutor(min(THREADS, len(wanted))) as threads:
        return dict(zip(wanted, threads.map(partial(_ask_for_one, lake), wanted), strict=True))


def _ask_for_one(lake: Lake, name: TableName) -> Located | CalveError:
    return guarded(lambda: Located(lake, name, *locate_table(lake, name)), str(name))


def _rows(catalog: SqlCatalog, wanted: Sequence[TableName]) -> dict[tuple[str, str], Mapping[Any, Any]]:
    from sqlalchemy import bindparam, text

    query = text(
        "SELECT * FROM iceberg_tables WHERE catalog_name = :catalog AND table_name IN :tables"
    ).bindparams(bindparam("tables", expanding=True))
    found: dict[tuple[str, str], Mapping[Any, Any]] = {}
    with catalog.engine.connect() as connection:
        for tables in _portions(wanted):
            rows = connection.execute(query, {"catalog": catalog.name, "tables": tables}).mappings()
            found |= {(row["table_namespace"], row["table_name"]): row for row in rows}
    return found


def _portions(wanted: Sequence[TableName]) -> Iterator[list[str]]:
    tables = sorted({name.table for name in wanted})
    return (tables[start : start + AT_ONCE] for start in range(0, len(tables), AT_ONCE))


def _key(name: TableName) -> tuple[str, str]:
    return Catalog.namespace_to_string(name.namespace), name.table


def _from_row(lake: Lake, name: TableName, row: Mapping[Any, Any] | None) -> Located | CalveError:
    if row is None:
        return not_found(name)
    location = location_in(row)
    return not_iceberg(name) if location is None else Located(lake, name, location, None)
