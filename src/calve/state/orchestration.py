"""The tables of the orchestrator. Migrations make them; this module is how code speaks of them.

Documents are JSON texts; what is searched or changed by itself is a column. Partial indexes (in the
migrations) hold only what is unfinished, so that nothing grows with the number of finished runs.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, Table, Text, false

from calve.state.schema import metadata

#: A key that the database counts up; SQLite counts only plain INTEGER keys.
Key = BigInteger().with_variant(Integer, "sqlite")

workflows = Table(
    "workflows",
    metadata,
    Column("workflow_id", Text, primary_key=True),
    Column("latest_version", Integer, nullable=False),
    Column("active_version", Integer),  # null: nothing is active, triggers rest
    Column("latest_instance_id", BigInteger, nullable=False),
    Column("properties", Text, nullable=False),
    Column("properties_version", Integer, nullable=False),
    Column("paused", Boolean, nullable=False),  # instances queue up and none begins
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

workflow_versions = Table(
    "workflow_versions",
    metadata,
    Column("workflow_id", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

property_changes = Table(
    "property_changes",
    metadata,
    Column("workflow_id", Text, primary_key=True),
    Column("properties_version", Integer, primary_key=True),
    Column("properties", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

time_triggers = Table(
    "time_triggers",
    metadata,
    Column("workflow_id", Text, primary_key=True),
    Column("trigger_uuid", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("watermark_at", BigInteger, nullable=False),  # firings up to here are done
    Column("next_at", BigInteger),  # null: it rests
)

signal_triggers = Table(
    "signal_triggers",
    metadata,
    Column("workflow_id", Text, primary_key=True),
    Column("trigger_uuid", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("checkpoints", Text, nullable=False),  # signal name → the last seq_ids used up, and seen
    Column("active", Boolean, nullable=False),
)

# What of a table's changes has started a workflow, and when it may start again.
incremental_triggers = Table(
    "incremental_triggers",
    metadata,
    Column("workflow_id", Text, primary_key=True),
    Column("trigger_uuid", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("seen", Text, nullable=False),  # table → the snapshot up to which a start has answered
    Column("instance_id", BigInteger),  # the last instance that it started
    Column("started_at", BigInteger),
    Column("waiting_since", BigInteger),  # of the oldest change that was not yet enough for a start
    Column("decision", Text),  # what the last look led to, and why
    Column("looked_at", BigInteger),
    Column("waits", Text),  # how long the oldest change had waited at each of the last starts
    Column("falls_behind", Boolean, nullable=False, server_default=false()),
)

# Which triggers wait for a signal.
signal_subscriptions = Table(
    "signal_subscriptions",
    metadata,
    Column("signal_name", Text, primary_key=True),
    Column("workflow_id", Text, primary_key=True),
    Column("trigger_uuid", Text, primary_key=True),
)

signals = Table(
    "signals",
    metadata,
    Column("id", Key, primary_key=True),
    Column("name", Text, nullable=False),
    Column("seq_id", BigInteger, nullable=False),  # counts up within the name
    Column("uuid", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("source", Text),
    Column("created_at", BigInteger, nullable=False),
)

signal_params = Table(
    "signal_params",
    metadata,
    Column("name", Text, primary_key=True),
    Column("param", Text, primary_key=True),
    Column("value", Text, primary_key=True),  # encoded so that its order is that of the values
    Column("seq_id", BigInteger, primary_key=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Key, primary_key=True),
    Column("workflow_id", Text, nullable=False),
    Column("instance_id", BigInteger, nullable=False),
    Column("run_id", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("uuid", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("latest", Boolean, nullable=False),  # the newest run of its instance
    Column("inline", Boolean, nullable=False),  # an iteration of a loop
    Column("ready", Boolean, nullable=False),  # may be run: the run strategy let it through
    Column("blocking", Boolean, nullable=False),  # failed under STRICT_SEQUENTIAL, not yet unblocked
    Column("paused", Boolean, nullable=False),
    Column("ending", Text),  # the status that a stop, a kill or a timeout leads to
    Column("owner", BigInteger),  # the lease generation of the engine that runs it
    Column("parent_run", BigInteger),  # runs.id
    Column("parent_step", Text),
    Column("root_run", BigInteger),
    Column("depth", Integer, nullable=False),
    Column("initiator", Text, nullable=False),
    Column("request", Text, nullable=False),  # what was asked for: policy, params of steps
    Column("params", Text, nullable=False),
    Column("overview", Text),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("deadline_at", BigInteger),
)

# One row for each attempt of a step. The row is the queue: there is no other list of work.
steps = Table(
    "steps",
    metadata,
    Column("run", BigInteger, primary_key=True, autoincrement=False),
    Column("step_id", Text, primary_key=True),
    Column("attempt_id", Integer, primary_key=True),
    Column("uuid", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("carried", Boolean, nullable=False),  # done by an earlier run of the instance
    Column("ending", Text),  # the status that a stop, a kill, a skip or a timeout leads to
    Column("params", Text, nullable=False),
    Column("handle", Text),
    Column("progress", Text),
    Column("artifacts", Text),
    Column("dependencies", Text),
    Column("error", Text),
    Column("retries", Text, nullable=False),  # how often each kind of failure was tried again
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("deadline_at", BigInteger),
    Column("wake_at", BigInteger),  # of a failed attempt: when the next one begins
)

permit_limits = Table(
    "permit_limits",
    metadata,
    Column("tag", Text, primary_key=True),
    Column("max_allowed", Integer, nullable=False),
)

permits = Table(
    "permits",
    metadata,
    Column("tag", Text, primary_key=True),
    Column("run", BigInteger, primary_key=True, autoincrement=False),
    Column("step_id", Text, primary_key=True),
)

breakpoints = Table(
    "breakpoints",
    metadata,
    Column("id", Key, primary_key=True),
    Column("workflow_id", Text, nullable=False),
    Column("step_id", Text, nullable=False),
    Column("version", Integer),  # null in this and the next three: any
    Column("instance_id", BigInteger),
    Column("run_id", BigInteger),
    Column("attempt_id", Integer),
    Column("author", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

job_templates = Table(
    "job_templates",
    metadata,
    Column("job_type", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("definition", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# What external jobs gave back, until their step takes it.
output_data = Table(
    "output_data",
    metadata,
    Column("job_type", Text, primary_key=True),
    Column("job_id", Text, primary_key=True),
    Column("payload", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# What people and other engines ask of the engine that owns a run.
commands = Table(
    "commands",
    metadata,
    Column("id", Key, primary_key=True),
    Column("run", BigInteger, nullable=False),
    Column("step_id", Text),
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("done_at", BigInteger),
    Column("refusal", Text),  # null: carried out
)

# Changes that some engine has to look at: the queue of a workflow, a new signal.
wakeups = Table(
    "wakeups",
    metadata,
    Column("id", Key, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
)

# What happened, in order: written with the change itself, read by watchers and timelines.
events = Table(
    "events",
    metadata,
    Column("id", Key, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("workflow_id", Text, nullable=False),
    Column("run", BigInteger),
    Column("instance_id", BigInteger),
    Column("run_id", BigInteger),
    Column("step_id", Text),
    Column("attempt_id", Integer),
    Column("data", Text, nullable=False),
)

# One row for each engine process that ever was: its generation is the fence of all it writes.
leases = Table(
    "leases",
    metadata,
    Column("generation", Key, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Text, nullable=False),
    Column("alive", Boolean, nullable=False),
    Column("beat", BigInteger, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("beaten_at", BigInteger, nullable=False),
)
