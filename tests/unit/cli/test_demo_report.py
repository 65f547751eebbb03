"""What the demo makes of what its runs kept."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from rich.console import Console

from calve.cli.demo.report import Stage, draw, total
from calve.cli.demo.site import Measure, measure


def run_of(**steps: dict[str, Any]) -> dict[str, Any]:
    return {
        "started_at": 1_000,
        "ended_at": 3_500,
        "steps": {name: {"artifacts": {"spark": counts} if counts else {}} for name, counts in steps.items()},
    }


def test_a_run_took_what_its_spark_steps_took_together() -> None:
    counts = {"input_rows": 10, "input_bytes": 700, "input_files": 2, "cpu_ms": 40}
    found = measure(run_of(capture={}, write=counts, publish=counts | {"cpu_ms": 2}))
    assert found == Measure(rows=20, bytes=1_400, cpu_ms=42, wall_ms=2_500)


def test_the_report_has_rows_bytes_cpu_and_time_of_each_stage_both_ways() -> None:
    lookback, incremental = (
        Measure(2_000_000, 80_000_000, 9_000, 20_000),
        Measure(50_000, 2_000_000, 900, 5_000),
    )
    stages = {name: Stage(name, lookback, incremental) for name in ("1 daily", "2 aggregate")}
    assert total(stages).to_json() == {
        "stage": "together",
        "rows": {"lookback": 4_000_000, "incremental": 100_000},
        "bytes": {"lookback": 160_000_000, "incremental": 4_000_000},
        "cpu_ms": {"lookback": 18_000, "incremental": 1_800},
        "wall_ms": {"lookback": 40_000, "incremental": 10_000},
    }
    drawn = _print(stages)
    heads = next(line for line in drawn if "stage" in line)
    assert re.split("  +", heads.strip()) == ["stage", "rows read", "file bytes", "task CPU", "wall time"]
    first = next(number for number, line in enumerate(drawn) if "1 daily" in line)
    assert [line.split() for line in drawn[first : first + 3]] == [
        ["1", "daily", "lookback", "2,000,000", "80.0", "MB", "9.0", "s", "20.0", "s"],
        ["incremental", "50,000", "2.0", "MB", "0.9", "s", "5.0", "s"],
        ["share", "2.5%", "2.5%", "10.0%", "25.0%"],
    ]


def test_a_share_of_nothing_is_not_told() -> None:
    drawn = _print({"1 daily": Stage("1 daily", Measure(), Measure(1, 1, 1, 1))})
    assert next(line.split() for line in drawn if "share" in line) == ["share", "-", "-", "-", "-"]


def _print(stages: dict[str, Stage]) -> list[str]:
    console = Console(file=StringIO(), width=80)
    console.print(draw(stages, 3))
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]
