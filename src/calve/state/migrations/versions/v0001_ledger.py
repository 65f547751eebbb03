"""The ledger: positions, captures, and what people did to positions by hand."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    _chains()
    _captures()
    _sources()
    _position_events()


def _chains() -> None:
    op.create_table(
        "chains",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("consumer", sa.Text, nullable=False),
        sa.Column("table_uuid", sa.Text, nullable=False),
        sa.Column("branch", sa.Text, nullable=False),
        sa.Column("table_name", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("known", sa.Boolean, nullable=False),
        sa.Column("frontier", sa.BigInteger),
        sa.Column("links", sa.Text, nullable=False),
        sa.Column("settled_at", sa.BigInteger),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("consumer", "table_uuid", "branch"),
    )
    op.create_index("ix_chains_name", "chains", ["table_name", "consumer"])
    op.create_index("ix_chains_uuid", "chains", ["table_uuid"])


def _captures() -> None:
    op.create_table(
        "captures",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("consumer", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("run_ref", sa.Text),
        sa.Column("outcome", sa.Text),
        sa.Column("keep", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("ready_at", sa.BigInteger),
        sa.Column("committed_at", sa.BigInteger),
        sa.Column("released_at", sa.BigInteger),
        sa.Column("failed_at", sa.BigInteger),
        sa.Column("dropped_at", sa.BigInteger),
    )
    # Partial, so that finding live captures costs nothing for finished ones.
    _partial_index("ix_captures_open", ["consumer"], "status = 'open'")
    _partial_index("ix_captures_undropped", ["created_at"], "dropped_at IS NULL")
    op.create_index("ix_captures_run", "captures", ["run_ref"])


def _partial_index(name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "captures", columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))


def _sources() -> None:
    op.create_table(
        "capture_sources",
        sa.Column("capture_id", sa.Text, sa.ForeignKey("captures.id"), primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True),
        sa.Column("chain_id", sa.Integer, sa.ForeignKey("chains.id"), nullable=False),
        sa.Column("table_name", sa.Text, nullable=False),
        sa.Column("table_uuid", sa.Text, nullable=False),
        sa.Column("branch", sa.Text, nullable=False),
        sa.Column("segments", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
    )
    op.create_index("ix_capture_sources_chain", "capture_sources", ["chain_id", "capture_id"])


def _position_events() -> None:
    op.create_table(
        "position_events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("chain_id", sa.Integer, sa.ForeignKey("chains.id"), nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("before", sa.Text),
        sa.Column("after", sa.Text),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_position_events_chain", "position_events", ["chain_id"])
