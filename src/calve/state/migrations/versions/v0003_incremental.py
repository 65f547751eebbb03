"""Incremental processing: writes under captures, and triggers on changes of tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the tables."""
    op.add_column("captures", sa.Column("expires_at", sa.BigInteger))
    op.add_column("captures", sa.Column("lookback", sa.Text))
    op.create_index("ix_captures_consumer", "captures", ["consumer", "created_at"])
    op.create_table(
        "capture_writes",
        sa.Column("capture_id", sa.Text, sa.ForeignKey("captures.id"), primary_key=True),
        sa.Column("statement", sa.Text, primary_key=True),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("text_hash", sa.Text, nullable=False),
        sa.Column("begun_at", sa.BigInteger, nullable=False),
        sa.Column("snapshot_id", sa.BigInteger),
        sa.Column("landed_at", sa.BigInteger),
    )
    op.create_table(
        "incremental_triggers",
        sa.Column("workflow_id", sa.Text, primary_key=True),
        sa.Column("trigger_uuid", sa.Text, primary_key=True),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("seen", sa.Text, nullable=False),
        sa.Column("instance_id", sa.BigInteger),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("waiting_since", sa.BigInteger),
        sa.Column("decision", sa.Text),
        sa.Column("looked_at", sa.BigInteger),
    )
