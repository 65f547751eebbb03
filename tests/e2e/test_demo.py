"""`calve demo` as a new user runs it, on little data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

KINDS = ("rows", "bytes", "cpu_ms", "wall_ms")


@pytest.mark.jvm
@pytest.mark.slow
def test_the_demo_compares_both_pairs_and_they_are_equal(calve: Any, tmp_path: Path) -> None:
    done = subprocess.run(
        calve.command("demo", "--rows", "1000", "--days", "1", "--home", "lake", "--json"),
        cwd=tmp_path,
        env=calve.environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["equal"] is True
    assert found["rows"]["daily"] > 10_000
    assert [stage["stage"] for stage in found["stages"]] == ["1 daily", "2 aggregate", "together"]
    for stage in found["stages"]:
        assert all(stage[kind][way] > 0 for kind in KINDS for way in ("lookback", "incremental")), stage


def test_the_demo_leaves_a_folder_of_others_alone(calve: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("keep me")
    assert calve("demo", "--home", "mine", exits=2)["code"] == "DEMO_HOME_TAKEN"
    assert (tmp_path / "mine" / "file").read_text() == "keep me"
