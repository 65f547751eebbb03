"""Run by Alembic: migrates on the connection, and in the transaction, that the caller gives."""

from __future__ import annotations

from alembic import context

from calve.state.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
