"""What the workflows look like: a few that were really pushed, copied under other names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Table, select

from benchmarks.ui.scale import Scale
from calve.engine.catalog.push import push
from calve.state.clock import now_ms
from calve.state.database import Database
from calve.state.orchestration import (
    incremental_triggers,
    property_changes,
    time_triggers,
    workflow_versions,
    workflows,
)
from calve.workflow.definition import load_yaml

Row = dict[str, Any]
_DAY_MS = 24 * 3600 * 1000
_TEAMS, _TAGS, _PEOPLE = 50, 30, 40
#: Rows of these belong to a workflow.
_TABLES = (workflows, workflow_versions, property_changes, time_triggers, incremental_triggers)
_HEAD = """
Properties: {owner: p_token}
Workflow:
  id: w_token
  name: Flow n_token
  description: Reads t_from and keeps t_to up to date for everybody who asks for it.
  tags: [g_token, nightly]
  jobs:
"""
_BODIES = (
    """
    - job: {id: check, type: Shell, script: "test -e /tmp"}
    - job: {id: load, type: Spark, script: "INSERT OVERWRITE db.t_to SELECT * FROM db.t_from"}
    - job: {id: tell, type: Shell, script: "echo done"}
  dag: sequential
Trigger: {cron: "15 4 * * *"}
""",
    """
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.t_from], on_empty: skip}}
    - job: {id: process, type: Spark, script: "INSERT INTO db.t_to SELECT * FROM ${capture__icdc_table}"}
    - job: {id: commit, type: IpCommit, ip_commit: {capture_step: capture}}
  dag: sequential
Trigger: {incremental: true}
""",
    """
    - foreach:
        id: each
        params: {n: [1, 2, 3]}
        jobs: [{job: {id: part, type: Shell, script: "echo part $n"}}]
    - job: {id: sum, type: Spark, script: "INSERT INTO db.t_to SELECT count(*) FROM db.t_from"}
  dag: sequential
""",
)


@dataclass(frozen=True, slots=True)
class Flow:
    """A workflow of the state."""

    number: int
    workflow_id: str
    steps: tuple[str, ...]
    source: str
    target: str

    @property
    def is_incremental(self) -> bool:
        """Whether it captures changes."""
        return self.number % len(_BODIES) == 1


def flows(scale: Scale) -> list[Flow]:
    """All workflows; each reads what one before it writes."""
    steps = (("check", "load", "tell"), ("capture", "process", "commit"), ("each", "sum"))
    return [
        Flow(
            number,
            f"team_{number % _TEAMS:02d}.flow_{number:05d}",
            steps[number % len(steps)],
            f"table_{number // 4:05d}",
            f"table_{number + 1:05d}",
        )
        for number in range(scale.workflows)
    ]


def workflow_rows(
    folder: Path, made: Sequence[Flow], instances: Sequence[int]
) -> Iterator[tuple[Table, Row]]:
    """The rows of all workflows; `instances` is how many each has."""
    shapes = [_pushed(folder, body, number) for number, body in enumerate(_BODIES)]
    now = now_ms()
    for flow, count in zip(made, instances, strict=True):
        words = {
            "w_token": flow.workflow_id,
            "n_token": str(flow.number),
            "p_token": f"person_{flow.number % _PEOPLE}",
            "g_token": f"tag_{flow.number % _TAGS}",
            "t_from": flow.source,
            "t_to": flow.target,
        }
        for table, row in shapes[flow.number % len(shapes)]:
            copied = {name: _replace(value, words) for name, value in row.items()}
            if table is workflows:
                copied |= {"latest_instance_id": count, "paused": flow.number % 100 == 7}
            if table is time_triggers:
                copied |= {"next_at": now + flow.number * 7919 % _DAY_MS}
            yield table, copied


def _replace(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        for token, word in words.items():
            value = value.replace(token, word)
    return value


def _pushed(folder: Path, body: str, number: int) -> list[tuple[Table, Row]]:
    database = Database(f"sqlite:///{folder}/shape-{number}.db")
    with database.write() as connection:
        push(connection, load_yaml(_HEAD + body.lstrip("\n")).definition, "bench", now_ms())
        found = [
            (table, dict(row)) for table in _TABLES for row in connection.execute(select(table)).mappings()
        ]
    database.close()
    return found
