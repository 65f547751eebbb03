"""The state on each kind of database."""

from support.engine_db import connection, engine_db

__all__ = ["connection", "engine_db"]
