"""Is anybody there to run what is queued?"""

from __future__ import annotations

from calve.engine.core import lease
from calve.state.database import Database


def any_engine_alive(database: Database) -> bool:
    """True if some engine can be expected to take work."""
    with database.read() as connection:
        return lease.any_engine_alive(connection)
