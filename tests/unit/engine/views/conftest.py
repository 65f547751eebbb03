from __future__ import annotations

import pytest

from calve.state.database import Database
from support.engine_db import connection, engine_db

__all__ = ["connection", "engine_db"]


@pytest.fixture
def database(engine_db: Database) -> Database:
    """An empty state, on each kind of database."""
    return engine_db
