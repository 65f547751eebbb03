"""The tables of the state. Migrations make them; this module is how code speaks of them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, MetaData, Table, Text

# The newest migration. A state that names another one is migrated, or refused if it is newer.
SCHEMA_VERSION = "0008"

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
    Column("expires_at", BigInteger),  # null: when the settings say
    Column("lookback", Text),  # what a lookback window would have read, to tell what was saved
)

# What statements under a capture write, noted before they begin; the marker of the same name is in the
# summary of the target's snapshot, but snapshots expire.
capture_writes = Table(
    "capture_writes",
    metadata,
    Column("capture_id", Text, ForeignKey("captures.id"), primary_key=True),
    Column("statement", Text, primary_key=True),  # what the marker says after the capture: step and number
    Column("target", Text, nullable=False),
    Column("text_hash", Text, nullable=False),
    Column("begun_at", BigInteger, nullable=False),
    Column("snapshot_id", BigInteger),  # null: it has not landed, as far as is known here
    Column("landed_at", BigInteger),
)

# The newest write of each target, so that nobody has to go through all of them.
target_tables = Table(
    "target_tables",
    metadata,
    Column("target", Text, primary_key=True),
    Column("landed_at", BigInteger, nullable=False),
    Column("capture_id", Text, ForeignKey("captures.id"), nullable=False),
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
