"""The tables of the state. Migrations make them; this module is how code speaks of them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, MetaData, Table, Text

# The newest migration. A state that names another one is migrated, or refused if it is newer.
SCHEMA_VERSION = "0002"

metadata = MetaData()

# One row for each position of a consumer. Rows are never deleted, so that `version` only grows
# and compare-and-set on it is safe; `known` false is a position that was forgotten.
chains = Table(
    "chains",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("consumer", Text, nullable=False),
    Column("table_uuid", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("table_name", Text, nullable=False),  # as last seen: a renamed table keeps its uuid
    Column("version", BigInteger, nullable=False),
    Column("known", Boolean, nullable=False),
    Column("frontier", BigInteger),
    Column("links", Text, nullable=False),
    Column("settled_at", BigInteger),  # of the last commit or set; null: nothing to lose yet
    Column("updated_at", BigInteger, nullable=False),
)

captures = Table(
    "captures",
    metadata,
    Column("id", Text, primary_key=True),
    Column("consumer", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("run_ref", Text),
    Column("outcome", Text),
    Column("keep", Boolean, nullable=False),  # the ICDC tables outlive the commit
    Column("created_at", BigInteger, nullable=False),
    Column("ready_at", BigInteger),  # the ICDC tables are written
    Column("committed_at", BigInteger),
    Column("released_at", BigInteger),
    Column("failed_at", BigInteger),
    Column("dropped_at", BigInteger),  # the ICDC tables are gone, or never were
)

sources = Table(
    "capture_sources",
    metadata,
    Column("capture_id", Text, ForeignKey("captures.id"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("chain_id", Integer, ForeignKey("chains.id"), nullable=False),
    Column("table_name", Text, nullable=False),
    Column("table_uuid", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("segments", Text, nullable=False),
    Column("result", Text),
)

# What people did to positions by hand.
position_events = Table(
    "position_events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("chain_id", Integer, ForeignKey("chains.id"), nullable=False),
    Column("action", Text, nullable=False),
    Column("before", Text),
    Column("after", Text),
    Column("owner", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)
