"""All figures, each beside the raw commits of its database and the peers that do the same."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console
from rich.table import Table

from benchmarks.engine.figures import CALVE
from benchmarks.engine.stores import SQLITE
from benchmarks.report import Result

_VERDICTS = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}


def compare(results: list[Result]) -> list[Result]:
    """The figures with what they are in raw commits, and how many times faster they are than the peers'."""
    return [_compared(result, results) for result in results]


def _compared(result: Result, results: list[Result]) -> Result:
    raw = result.details.get("raw_commits_per_s")
    if raw is None:
        return result
    each = result.details["ms_each_median"]
    more = {"in_raw_commits": round(each / 1000 * raw, 2)}
    if result.details["who"] == CALVE:
        more["times_faster_than"] = {
            peer.details["who"]: round(peer.details["ms_each_median"] / each, 2)
            for peer in results
            if _is_peer_of(peer, result)
        }
    return replace(result, details={**result.details, **more})


def _is_peer_of(peer: Result, result: Result) -> bool:
    details = peer.details
    same = details.get("measure") == result.details["measure"] and details.get("who") not in (CALVE, "raw")
    # Dagster knows only one way to keep its runs.
    return same and (
        peer.part == result.part or (peer.part == SQLITE and details["who"].startswith("Dagster"))
    )


def show(results: list[Result], console: Console) -> None:
    """Print all figures."""
    table = Table(
        "", "case", "measured", "p95", "target", "", "in raw commits", "times faster than", title="Engine"
    )
    for column in (2, 3, 4, 6):
        table.columns[column].justify = "right"
    part = ""
    for result in sorted(results, key=lambda result: result.part):
        if part not in ("", result.part):
            table.add_section()
        table.add_row("" if result.part == part else result.part, result.case, *_cells(result))
        part = result.part
    console.print(table)


def _cells(result: Result) -> tuple[str, ...]:
    details = result.details
    p95 = details.get("ms_each_p95") if result.unit == "ms" else None
    raw = details.get("in_raw_commits")
    faster = details.get("times_faster_than", {})
    return (
        f"{_number(result.measured)} {result.unit}",
        "" if p95 is None else _number(p95),
        "" if result.target is None else f"{result.target.sign} {result.target.value:,g}",
        _VERDICTS[result.met],
        "" if raw is None else _number(raw),
        ", ".join(f"{who} {_number(ratio)}" for who, ratio in faster.items()),
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
