"""Ledgers of their own, small tables written by PyIceberg, and what captures of them show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable, Table

from calve.errors import CalveError
from calve.lake.model import Changes
from calve.ledger.ledger import Ledger
from calve.settings import load_settings

SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.string())])


def make_ledger(home: Path, state_url: str | None = None) -> Ledger:
    """The ledger of a home, with its state elsewhere if a URL is given."""
    settings = load_settings(home)
    return Ledger(settings if state_url is None else settings.model_copy(update={"state_url": state_url}))


def make_table(ledger: Ledger, name: str = "db.t") -> Table:
    """A new table without snapshots."""
    catalog = ledger.lake.catalog("lake")
    catalog.create_namespace_if_not_exists(name.split(".", maxsplit=1)[0])
    return catalog.create_table(name, schema=SCHEMA)


def append(table: Table, *ids: int) -> int:
    """One snapshot with a row for each id; its id."""
    table.append(pa.table({"id": list(ids), "value": [f"v{i}" for i in ids]}, schema=SCHEMA))
    return head(table)


def head(table: Table) -> int:
    """The newest snapshot of a table that has one."""
    current = table.refresh().current_snapshot()
    assert current is not None
    return current.snapshot_id


def rows(location: str | None) -> list[int]:
    """The ids that an ICDC table shows, read without a catalog."""
    if location is None:
        return []
    found: list[Any] = StaticTable.from_metadata(location).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def added(changes: Changes | Iterable[Changes]) -> list[int]:
    """The ids of the rows that came."""
    several: Sequence[Changes] = [changes] if isinstance(changes, Changes) else list(changes)
    return sorted(i for found in several for i in rows(found.icdc_metadata_location))


def code_of(error: pytest.ExceptionInfo[BaseException]) -> str:
    """The code of an error that Calve reported."""
    assert isinstance(error.value, CalveError)
    return error.value.code
