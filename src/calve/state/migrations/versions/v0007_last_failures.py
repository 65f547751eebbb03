"""The latest failures, found without a look at each workflow."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Order failed runs by when they ended, too."""
    failed = sa.text("status IN ('FAILED', 'TIMED_OUT')")
    op.create_index("ix_runs_failed_last", "runs", ["ended_at"], sqlite_where=failed, postgresql_where=failed)
