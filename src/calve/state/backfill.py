"""The tables of backfills. Migrations make them; this module is how code speaks of them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, Table, Text

from calve.state.orchestration import Key
from calve.state.schema import metadata

backfills = Table(
    "backfills",
    metadata,
    Column("id", Key, primary_key=True),
    Column("workflow_id", Text, nullable=False),  # where it begins
    Column("status", Text, nullable=False),
    Column("plan", Text, nullable=False),  # the whole plan, as it was explained
    Column("reason", Text),
    Column("author", Text, nullable=False),
    Column("auto_publish", Boolean, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("instance_id", BigInteger),  # of the workflow that drives it; null: not started
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
)

# One workflow of a backfill: its chunks, its branch, what it published.
backfill_stages = Table(
    "backfill_stages",
    metadata,
    Column("backfill_id", BigInteger, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("workflow_id", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("state", Text, nullable=False),  # what the phases have found out so far
    Column("version", Integer, nullable=False),  # for compare-and-set
    Column("updated_at", BigInteger, nullable=False),
)

backfill_chunks = Table(
    "backfill_chunks",
    metadata,
    Column("backfill_id", BigInteger, primary_key=True),
    Column("stage", Integer, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("round", Integer, primary_key=True),  # above 1: again, because the target has moved
    Column("chunk", Text, nullable=False),  # its bounds and what it reads
    Column("chunk_workflow", Text, nullable=False),
    Column("instance_id", BigInteger),  # null: not queued yet
)

# A consumer sees nothing past a snapshot while what comes after it is being published by a backfill that
# brings it to the consumer itself.
backfill_holds = Table(
    "backfill_holds",
    metadata,
    Column("consumer", Text, primary_key=True),
    Column("table_uuid", Text, primary_key=True),
    Column("branch", Text, primary_key=True),
    Column("backfill_id", BigInteger, nullable=False),
    Column("up_to_snapshot", BigInteger),  # null: the table had no snapshot
)
