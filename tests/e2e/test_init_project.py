"""The project that `calve init` writes runs as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def test_the_test_of_the_project_passes(calve: Any, tmp_path: Path) -> None:
    """It goes the whole way: push, data, run, late data, run, and each row is processed once."""
    project = Path(calve("init", "mine")["project"])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        env=calve.environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_spark_project_adds_the_change_to_the_totals(calve: Any, tmp_path: Path) -> None:
    """As far as it goes without a JVM: the data is there, and the SQL that would run is the right one."""
    from dataclasses import replace

    in_project = replace(calve, folder=Path(calve("init", "mine", "--spark")["project"]))
    in_project("push", "workflows")
    in_project("run", "watch_source", "--wait")
    rendered = in_project("render", "watch_daily")
    sql = str(rendered)
    assert "lake.watch.daily" in sql
    assert "DATE '2026-01-01'" in sql
