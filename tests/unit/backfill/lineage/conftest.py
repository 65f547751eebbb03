"""Definitions read without any state, catalog or Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from calve.backfill.lineage.model import Cause, Direction, How, WorkflowTables
from calve.backfill.lineage.names import TableNames
from calve.backfill.lineage.reading import read_tables
from calve.backfill.lineage.sql import Found, ScriptReader
from calve.backfill.lineage.stand_ins import StandIns
from calve.lake.catalogs import Lake
from calve.settings import load_settings
from calve.spark.targets import WriteKind
from calve.steps.registry import RegisteredTypes
from calve.workflow.definition import load_yaml

#: A capture step to begin the jobs of a workflow with.
CAPTURE = """
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.events]}}
"""
Columns = dict[str, Sequence[str]]
ReadSql = Callable[..., Found]
ReadYaml = Callable[..., WorkflowTables]


@pytest.fixture
def own_lake(home: Path) -> Lake:
    """The names of an embedded lake that does not exist."""
    return Lake(load_settings(home))


@pytest.fixture
def read_sql(own_lake: Lake) -> ReadSql:
    def read(script: str, columns: Columns | None = None) -> Found:
        names = TableNames(own_lake, StandIns())
        return ScriptReader(names, (columns or {}).get).read_script(script)

    return read


@pytest.fixture
def read_yaml(own_lake: Lake, home: Path) -> ReadYaml:
    """Reads the tables of a workflow that is given as the YAML of its jobs, or whole."""

    def read(text: str, columns: Columns | None = None) -> WorkflowTables:
        whole = text if "Workflow:" in text else f"Workflow:\n  id: w\n  jobs:\n{text}\n  dag: sequential"
        definition = load_yaml(whole, file="w.yaml", types=RegisteredTypes()).definition
        found = read_tables(definition.workflow, own_lake, version=1, schemas=(columns or {}).get)
        assert not home.exists(), "nothing may be opened, made or asked for"
        return found

    return read


def reads(found: WorkflowTables) -> dict[str, set[How]]:
    return {read.table.removeprefix("lake."): set(read.how) for read in found.reads}


def writes(found: WorkflowTables) -> dict[str, set[WriteKind]]:
    return {write.table.removeprefix("lake."): set(write.kinds) for write in found.writes}


def gaps(found: WorkflowTables) -> list[tuple[str, Cause, set[Direction]]]:
    return [(gap.step_id, gap.cause, set(gap.directions)) for gap in found.unknown]


def edges(found: WorkflowTables) -> set[str]:
    return {f"{x.source_table}.{x.source_column} > {x.target_table}.{x.target_column}" for x in found.columns}
