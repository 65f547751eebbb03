"""Tables that are asked for by a name they no longer have."""

from __future__ import annotations

from calve.errors import NotFoundError
from calve.lake import Lake, SourceTable, open_table
from calve.lake.finding import find_renamed, has_uuid
from calve.ledger.store import Store
from calve.state.schema import chains


def open_source(lake: Lake, store: Store, name: str) -> SourceTable:
    """A table by its name. Raises as `open_table` does; TABLE_NOT_FOUND names the new name of a
    table that was renamed, if a position or its catalog knows it."""
    try:
        return open_table(lake, name)
    except NotFoundError as error:
        now = _name_now(lake, store, str(lake.resolve(name))) if error.code == "TABLE_NOT_FOUND" else None
        if now is None:
            raise
        raise NotFoundError(
            error.code,
            f"{error.message}; the table of that name is {now} now",
            f"ask for {now}: it is the same table, so consumers go on where they were",
        ) from error


def _name_now(lake: Lake, store: Store, name: str) -> str | None:
    uuids = {x.table_uuid for x in store.positions(chains.c.table_name == name)}
    if not uuids:
        return None
    elsewhere = store.positions(chains.c.table_uuid.in_(uuids), chains.c.table_name != name)
    known = (x.table_name for x in elsewhere if has_uuid(lake, x.table_name, uuids))
    return next(known, None) or _found(lake, name, uuids)


def _found(lake: Lake, name: str, uuids: set[str]) -> str | None:
    found = find_renamed(lake, lake.resolve(name), uuids)
    return None if found is None else str(found)
