"""The orchestrator: workflows, triggers, signals, runs, steps, leases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _big(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def _int(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False)


def _key(name: str = "id") -> sa.Column[int]:
    return sa.Column(name, _KEY, primary_key=True)


def _maybe(name: str, type_: type = sa.BigInteger) -> sa.Column[object]:
    return sa.Column(name, type_, nullable=True)


def _partial(name: str, table: str, columns: list[str], where: str, on_sqlite: str | None = None) -> None:
    """An index of a part; SQLite uses it only for queries that state the condition in the very same form."""
    sqlite = sa.text(on_sqlite or where)
    op.create_index(name, table, columns, sqlite_where=sqlite, postgresql_where=sa.text(where))


def upgrade() -> None:
    _workflows()
    _triggers()
    _signals()
    _runs()
    _steps()
    _limits()
    _library()
    _engine()


def _workflows() -> None:
    op.create_table(
        "workflows",
        _text("workflow_id"), _int("latest_version"), _maybe("active_version", sa.Integer),
        _big("latest_instance_id"), _text("properties"), _int("properties_version"), _flag("paused"),
        _big("created_at"), _big("updated_at"),
        sa.PrimaryKeyConstraint("workflow_id"),
    )  # fmt: skip
    op.create_table(
        "workflow_versions",
        _text("workflow_id"), _int("version"), _text("definition"), _text("author"), _big("created_at"),
        sa.PrimaryKeyConstraint("workflow_id", "version"),
    )  # fmt: skip
    op.create_table(
        "property_changes",
        _text("workflow_id"), _int("properties_version"), _text("properties"), _text("author"),
        _big("created_at"),
        sa.PrimaryKeyConstraint("workflow_id", "properties_version"),
    )  # fmt: skip


def _triggers() -> None:
    op.create_table(
        "time_triggers",
        _text("workflow_id"), _text("trigger_uuid"), _text("definition"), _big("watermark_at"),
        _maybe("next_at"),
        sa.PrimaryKeyConstraint("workflow_id", "trigger_uuid"),
    )  # fmt: skip
    _partial("ix_time_triggers_next", "time_triggers", ["next_at"], "next_at IS NOT NULL")
    op.create_table(
        "signal_triggers",
        _text("workflow_id"), _text("trigger_uuid"), _text("definition"), _text("checkpoints"),
        _flag("active"),
        sa.PrimaryKeyConstraint("workflow_id", "trigger_uuid"),
    )  # fmt: skip
    op.create_table(
        "signal_subscriptions",
        _text("signal_name"), _text("workflow_id"), _text("trigger_uuid"),
        sa.PrimaryKeyConstraint("signal_name", "workflow_id", "trigger_uuid"),
    )  # fmt: skip


def _signals() -> None:
    op.create_table(
        "signals",
        _key(), _text("name"), _big("seq_id"), _text("uuid"), _text("params"), _text("payload"),
        _maybe("source", sa.Text), _big("created_at"),
        sa.UniqueConstraint("name", "seq_id"),
        sa.UniqueConstraint("uuid"),
    )  # fmt: skip
    op.create_table(
        "signal_params",
        _text("name"), _text("param"), _text("value"), _big("seq_id"),
        sa.PrimaryKeyConstraint("name", "param", "value", "seq_id"),
    )  # fmt: skip


def _runs() -> None:
    op.create_table(
        "runs",
        _key(), _text("workflow_id"), _big("instance_id"), _big("run_id"), _int("version"), _text("uuid"),
        _text("status"), _flag("latest"), _flag("inline"), _flag("ready"), _flag("blocking"), _flag("paused"),
        _maybe("ending", sa.Text), _maybe("owner"), _maybe("parent_run"), _maybe("parent_step", sa.Text),
        _maybe("root_run"), _int("depth"), _text("initiator"), _text("request"), _text("params"),
        _maybe("overview", sa.Text), _maybe("error", sa.Text), _big("created_at"), _maybe("started_at"),
        _maybe("ended_at"), _maybe("deadline_at"),
        sa.UniqueConstraint("workflow_id", "instance_id", "run_id"),
        sa.UniqueConstraint("workflow_id", "uuid"),
    )  # fmt: skip
    _partial("ix_runs_queued", "runs", ["workflow_id", "instance_id", "run_id"], "status = 'CREATED'")
    _partial("ix_runs_live", "runs", ["workflow_id", "id"], "status = 'IN_PROGRESS'")
    _partial("ix_runs_blocking", "runs", ["workflow_id"], "blocking", "blocking = 1")
    _partial("ix_runs_unowned", "runs", ["id"], "ready AND owner IS NULL", "ready = 1 AND owner IS NULL")
    _partial("ix_runs_owned", "runs", ["owner"], "owner IS NOT NULL")
    _partial(
        "ix_runs_children", "runs", ["parent_run", "parent_step", "instance_id"], "parent_run IS NOT NULL"
    )


def _steps() -> None:
    op.create_table(
        "steps",
        _big("run"), _text("step_id"), _int("attempt_id"), _text("uuid"), _text("status"), _flag("carried"),
        _maybe("ending", sa.Text), _text("params"), _maybe("handle", sa.Text), _maybe("progress", sa.Text),
        _maybe("artifacts", sa.Text), _maybe("dependencies", sa.Text), _maybe("error", sa.Text),
        _text("retries"), _big("created_at"), _maybe("started_at"), _maybe("ended_at"), _maybe("deadline_at"),
        _maybe("wake_at"),
        sa.PrimaryKeyConstraint("run", "step_id", "attempt_id"),
    )  # fmt: skip
    _partial("ix_steps_paused", "steps", ["run"], "status = 'PAUSED'")


def _limits() -> None:
    op.create_table(
        "permit_limits", _text("tag"), _int("max_allowed"), sa.PrimaryKeyConstraint("tag")
    )  # fmt: skip
    op.create_table(
        "permits",
        _text("tag"), _big("run"), _text("step_id"),
        sa.PrimaryKeyConstraint("tag", "run", "step_id"),
    )  # fmt: skip
    op.create_index("ix_permits_step", "permits", ["run", "step_id"])
    op.create_table(
        "breakpoints",
        _key(), _text("workflow_id"), _text("step_id"), _maybe("version", sa.Integer), _maybe("instance_id"),
        _maybe("run_id"), _maybe("attempt_id", sa.Integer), _text("author"), _big("created_at"),
    )  # fmt: skip
    op.create_index("ix_breakpoints_workflow", "breakpoints", ["workflow_id"])


def _library() -> None:
    op.create_table(
        "job_templates",
        _text("job_type"), _text("version"), _text("definition"), _text("author"), _big("created_at"),
        sa.PrimaryKeyConstraint("job_type", "version"),
    )  # fmt: skip
    op.create_table(
        "output_data",
        _text("job_type"), _text("job_id"), _text("payload"), _big("created_at"),
        sa.PrimaryKeyConstraint("job_type", "job_id"),
    )  # fmt: skip


def _engine() -> None:
    op.create_table(
        "commands",
        _key(), _big("run"), _maybe("step_id", sa.Text), _text("kind"), _text("payload"), _text("author"),
        _big("created_at"), _maybe("done_at"), _maybe("refusal", sa.Text),
    )  # fmt: skip
    _partial("ix_commands_pending", "commands", ["run"], "done_at IS NULL")
    op.create_table("wakeups", _key(), _text("kind"), _text("key"))
    op.create_table(
        "events",
        _key(), _big("at"), _text("kind"), _text("workflow_id"), _maybe("run"), _maybe("instance_id"),
        _maybe("run_id"), _maybe("step_id", sa.Text), _maybe("attempt_id", sa.Integer), _text("data"),
    )  # fmt: skip
    op.create_index("ix_events_run", "events", ["run", "id"])
    op.create_index("ix_events_workflow", "events", ["workflow_id", "id"])
    _partial("ix_events_outside_runs", "events", ["workflow_id", "id"], "run IS NULL")
    op.create_table(
        "leases",
        _key("generation"), _text("host"), _int("pid"), _text("process_started"), _flag("alive"),
        _big("beat"), _big("started_at"), _big("beaten_at"),
    )  # fmt: skip
    _partial("ix_leases_alive", "leases", ["generation"], "alive", "alive = 1")
