"""Housekeeping after many rows were put into a state at once."""

from __future__ import annotations

from sqlalchemy import create_engine, text

from calve.state.database import Database


def settle(database: Database) -> None:
    """Do at once what the databases do by themselves while such a crowd gathers."""
    housekeeping = "PRAGMA wal_checkpoint(TRUNCATE)" if database.is_sqlite else "VACUUM ANALYZE"
    engine = create_engine(database.url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(housekeeping))
    finally:
        engine.dispose()
