"""What the tests of the engine share."""

from __future__ import annotations

from support.engine_db import engine_db
from support.engine_runs import _probe_type, on_both, on_sqlite

__all__ = ["_probe_type", "engine_db", "on_both", "on_sqlite"]
