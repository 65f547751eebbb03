"""Backfills: plans, stages, chunks, and what consumers wait for while one publishes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_Key = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "backfills",
        sa.Column("id", _Key, primary_key=True),
        sa.Column("workflow_id", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("auto_publish", sa.Boolean, nullable=False),
        sa.Column("concurrency", sa.Integer, nullable=False),
        sa.Column("instance_id", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
    )
    op.create_table(
        "backfill_stages",
        sa.Column("backfill_id", sa.BigInteger, primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True),
        sa.Column("workflow_id", sa.Text, nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "backfill_chunks",
        sa.Column("backfill_id", sa.BigInteger, primary_key=True),
        sa.Column("stage", sa.Integer, primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("chunk", sa.Text, nullable=False),
        sa.Column("chunk_workflow", sa.Text, nullable=False),
        sa.Column("instance_id", sa.BigInteger),
    )
    op.create_table(
        "backfill_holds",
        sa.Column("consumer", sa.Text, primary_key=True),
        sa.Column("table_uuid", sa.Text, primary_key=True),
        sa.Column("branch", sa.Text, primary_key=True),
        sa.Column("backfill_id", sa.BigInteger, nullable=False),
        sa.Column("up_to_snapshot", sa.BigInteger),
    )
