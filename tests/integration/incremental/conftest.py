"""What the tests of incremental workflows share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.table import Table

from calve.ledger.ledger import Ledger
from calve.steps.incremental.shared import close_ledgers, ledger_of
from support.engine_db import engine_db
from support.engine_runs import EngineRuns, _probe_type, on_both, on_sqlite
from support.ledgers import make_table

__all__ = ["_probe_type", "engine_db", "on_both", "on_sqlite"]


@pytest.fixture
def ledger(on_both: EngineRuns) -> Iterator[Ledger]:
    """The ledger that the steps of the engine use."""
    yield ledger_of(on_both.settings)
    close_ledgers()


@pytest.fixture
def source(ledger: Ledger) -> Table:
    """`db.t`, without snapshots."""
    return make_table(ledger)
