"""A ledger on each kind of state database, for the tests that take it over into their conftest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.table import Table

from calve.ledger.ledger import Ledger
from support.ledgers import make_ledger, make_table


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def state_url(request: pytest.FixtureRequest, home: Path) -> str:
    """The URL of an empty state database: every test that asks for it runs on both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{home}/state.db"
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def ledger(home: Path, state_url: str) -> Iterator[Ledger]:
    """A ledger with a lake and a state of its own."""
    with make_ledger(home, state_url) as made:
        yield made


@pytest.fixture
def table(ledger: Ledger) -> Table:
    """`db.t`, without snapshots."""
    return make_table(ledger)
