"""How fresh each target table is, and which triggers fall behind."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table and the columns, and fill the table from what is known."""
    op.create_table(
        "target_tables",
        sa.Column("target", sa.Text, primary_key=True),
        sa.Column("landed_at", sa.BigInteger, nullable=False),
        sa.Column("capture_id", sa.Text, sa.ForeignKey("captures.id"), nullable=False),
    )
    op.create_index("ix_target_tables_landed", "target_tables", ["landed_at", "target"])
    op.execute(
        """
        INSERT INTO target_tables (target, landed_at, capture_id)
        SELECT w.target, w.landed_at, max(w.capture_id)
        FROM capture_writes w
        JOIN (
            SELECT target, max(landed_at) AS newest
            FROM capture_writes WHERE landed_at IS NOT NULL GROUP BY target
        ) n ON n.target = w.target AND n.newest = w.landed_at
        GROUP BY w.target, w.landed_at
        """
    )
    op.add_column("incremental_triggers", sa.Column("waits", sa.Text))
    op.add_column(
        "incremental_triggers",
        sa.Column("falls_behind", sa.Boolean, nullable=False, server_default=sa.false()),
    )
