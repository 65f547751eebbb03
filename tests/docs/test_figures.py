"""Figures in the pages are those that were measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from support.docs.blocks import ROOT


def results(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / "results" / name).read_text(encoding="utf-8"))


def words(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def task_cpu(cycles: list[Mapping[str, Any]], way: str, stages: tuple[int, ...]) -> float:
    """Seconds of a daily run, on average."""
    measured = [float(cycle[way][stage]["task_cpu_seconds"]) for cycle in cycles for stage in stages]
    return sum(measured) / len(cycles)


def seconds(value: float) -> str:
    """As a page writes them: no more than one digit after the point, and none that says nothing."""
    return f"{value:.1f}".removesuffix(".0") + " s"


def percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


@pytest.mark.parametrize(("place", "stages"), [(0, (0,)), (1, (1,)), (2, (0, 1))])
def test_the_readme_compares_both_ways_by_what_was_measured(place: int, stages: tuple[int, ...]) -> None:
    found = results("playback.json")
    before, after = (task_cpu(found["cycles"], way, stages) for way in ("lookback", "incremental"))
    share = found["incremental_to_lookback"][place]["task_cpu_seconds"]
    assert f"| {seconds(before)} | {seconds(after)} | **{share:.1%}** |".replace("%", " %") in words(
        "README.md"
    )


def test_the_readme_tells_the_rest_by_what_was_measured() -> None:
    found = results("playback.json")
    both = found["incremental_to_lookback"][2]
    text = words("README.md")
    jvm, wall = percent(both["jvm_cpu_seconds"]), percent(both["wall_seconds"])
    assert f"CPU of the whole JVM: {jvm}, wall time: {wall}" in text
    lost = found["cycles"][-1]["rows_later_than_the_window"]
    assert f"are lost by the lookback: {lost:,} rows" in text
    assert f"on {round(found['settings']['rows_in_15_days'] / 1e6)} million rows" in text


@pytest.mark.parametrize("kind", ["rows read", "bytes of files opened", "task CPU", "wall time"])
def test_a_backfill_costs_what_was_measured(kind: str) -> None:
    found = next(
        one for one in results("backfill.json")["results"] if one["case"].startswith(f"{kind}: 3 of")
    )
    assert f"| {kind} | {percent(found['measured'] / 100)} |" in words("docs/backfill.md")
