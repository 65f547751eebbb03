"""Overviews: what needs attention, and how fresh tables are, found without reading history."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def _partial(name: str, table: str, columns: list[str], where: str, on_sqlite: str | None = None) -> None:
    """An index of a part; SQLite uses it only for queries that state the condition in the very same form."""
    sqlite = sa.text(on_sqlite or where)
    op.create_index(name, table, columns, sqlite_where=sqlite, postgresql_where=sa.text(where))


def upgrade() -> None:
    """Make the indexes."""
    # Runs that go well cost nothing here.
    _partial("ix_runs_failed", "runs", ["workflow_id", "instance_id"], "status IN ('FAILED', 'TIMED_OUT')")
    for status in ("FAILED", "TIMED_OUT", "STOPPED"):
        _partial(
            f"ix_runs_newest_{status.lower()}",
            "runs",
            ["id"],
            f"status = '{status}' AND NOT inline",
            f"status = '{status}' AND inline = 0",
        )
    _partial("ix_workflows_paused", "workflows", ["workflow_id"], "paused", "paused = 1")
    _partial("ix_capture_writes_target", "capture_writes", ["target", "landed_at"], "landed_at IS NOT NULL")
