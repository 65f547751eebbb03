"""`calve render`: the SQL of what is pending, and nothing left behind by asking for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calve.cli.main import run
from calve.ledger.ledger import Ledger
from support.ledgers import append, make_ledger, make_table

pytestmark = pytest.mark.slow

WORKFLOW = """
Workflow:
  id: copy
  least: 0
  jobs:
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [lake.db.t]}}
    - job:
        id: write
        type: IncrementalMerge
        incremental_merge:
          target: lake.db.target
          keys: [id]
          query: SELECT id, value FROM lake.db.t WHERE id > $least
    - job: {id: commit, type: IpCommit, ip_commit: {capture_step: capture}}
  dag: sequential
"""


@pytest.fixture
def ledger(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("CALVE_HOME", str(home))
    with make_ledger(home) as made:
        append(make_table(made), 1, 2)
        make_table(made, "db.target")
        yield made


@pytest.fixture
def file(tmp_path: Path) -> str:
    written = tmp_path / "copy.yaml"
    written.write_text(WORKFLOW)
    return str(written)


def render(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(["render", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def tables(ledger: Ledger) -> set[tuple[str, ...]]:
    catalog = ledger.lake.catalog("lake")
    return {name for space in catalog.list_namespaces() for name in catalog.list_tables(space)}


def test_what_is_pending_is_rendered_and_nothing_is_reserved(
    ledger: Ledger, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tables(ledger)
    code, shown = render(capsys, file, "write", "--param", "least=5")
    assert code == 0
    (step,) = shown["steps"]
    assert (step["step_id"], step["type"], step["records"]) == ("write", "IncrementalMerge", 2)
    merged, inserted = (statement["sql"] for statement in step["statements"])
    assert merged.startswith("MERGE INTO lake.db.target")
    assert "FROM icdc.`t_change` AS `t` WHERE id > 5" in merged
    assert inserted.startswith("INSERT INTO lake.db.target")
    assert tables(ledger) == before
    assert ledger.checkpoints() == []
    assert not list(ledger.settings.home.rglob("*icdc*/**/*.json"))


def test_what_is_committed_is_not_pending(
    ledger: Ledger, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.capture("db.t", consumer="copy/capture").commit()
    _, shown = render(capsys, file)
    assert shown["steps"][0]["statements"] == []


def test_a_capture_is_rendered_by_its_own_table(
    ledger: Ledger, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = ledger.capture("db.t", consumer="someone")
    _, shown = render(capsys, file, "--capture", capture.id)
    assert f"FROM {capture.changes.icdc_table} AS `t`" in shown["steps"][0]["statements"][0]["sql"]


def test_people_see_sql_that_they_can_run(
    ledger: Ledger, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", file]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("-- step write: IncrementalMerge of lake.db.t, 2 rows of change\n")
    assert shown.rstrip().endswith(";")


@pytest.mark.parametrize("step", ["nothing", "commit"])
def test_a_step_that_is_no_pattern_is_named(
    ledger: Ledger, file: str, capsys: pytest.CaptureFixture[str], step: str
) -> None:
    exit_code, shown = render(capsys, file, step)
    assert (exit_code, shown["code"]) == (2, "PATTERN_NOT_FOUND")
    assert step in shown["message"]
