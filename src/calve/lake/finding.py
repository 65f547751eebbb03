"""A table whose name is not known, found by its uuid."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from pyiceberg.exceptions import NoSuchNamespaceError

from calve.errors import CalveError
from calve.lake.catalogs import Lake, TableName
from calve.lake.retry import call
from calve.lake.tables import open_table

#: Every table that is looked at costs a read, and all of this is only for a better message.
_MOST_LOOKED_AT = 200


def find_renamed(lake: Lake, old: TableName, uuids: Collection[str]) -> TableName | None:
    """The table of one of these uuids in the namespace where it was, under whatever name.

    Looks at the first tables of the namespace only, so that None does not say that there is none.
    """
    catalog = lake.catalog(old.catalog)
    try:
        listed = call(partial(catalog.list_tables, old.namespace), f"catalog {old.catalog}")
    except NoSuchNamespaceError:
        return None
    names = (TableName(old.catalog, tuple(found[:-1]), found[-1]) for found in listed[:_MOST_LOOKED_AT])
    return next((name for name in names if has_uuid(lake, str(name), uuids)), None)


def has_uuid(lake: Lake, name: str, uuids: Collection[str]) -> bool:
    """Whether there is a table of this name with one of these uuids; one that cannot be read has none."""
    try:
        return open_table(lake, name).uuid in uuids
    except CalveError:
        return False
