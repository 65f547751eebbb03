"""The cost of a few days out of many, through the whole chain, beside that of all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from benchmarks.backfill.cost import CHUNKS, Cost
from benchmarks.backfill.site import Site
from benchmarks.report import Result, Target
from calve.demo.files import own_folder, playback_folder
from calve.demo.playback_source import PlaybackSource
from calve.demo.steps import TABLE

FIRST_DAY = date(2026, 1, 1)
DAILY, AGGREGATE = "ips_playback_daily_workflow", "ips_playback_daily_agg_workflow"
OVERWRITE = ("playback_daily_workflow", "playback_daily_agg_workflow")
_REST, _AT_ONCE = "further_days", 10
_PART = "a few days out of many"
#: At most so much more than in proportion to the days.
_SLACK = 1.2
_WARM_UPS = 2
_MEASURES: dict[str, Callable[[Cost], float]] = {
    "task CPU": lambda cost: cost.task_cpu_seconds,
    "CPU of all processes": lambda cost: cost.cpu_seconds,
    "wall time": lambda cost: cost.wall_seconds,
    "rows read": lambda cost: cost.total.rows,
    "bytes of files opened": lambda cost: cost.total.bytes,
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much there is, and how much of it is backfilled."""

    days: int
    few: int
    rows_per_day: int
    #: Backfills of the few days: so many before that of all days, and as many after it.
    repeats: int = 2


def day(number: int) -> str:
    """The date of a day, counted from 0."""
    return (FIRST_DAY + timedelta(days=number)).isoformat()


def fill(site: Site, sizes: Sizes) -> None:
    """Let all days arrive, and process them by regular runs."""
    site.push_files([own_folder() / "source.yaml"])
    first = {"rows_per_day": sizes.rows_per_day, "first_day": FIRST_DAY.isoformat()}
    site.run("playback_source", from_day=0, to_day=0, **first)
    site.push(_arrivals(sizes))
    site.run(_REST)
    files = ("ips_playback_daily", "ips_playback_daily_agg", "playback_daily", "playback_daily_agg")
    site.push_files([playback_folder() / f"{name}.yaml" for name in files])
    for workflow_id in (DAILY, AGGREGATE):
        site.run(workflow_id)


def _arrivals(sizes: Sizes) -> dict[str, Any]:
    """The days after the first, several in a statement: files are the same, and commits do not count."""
    source = PlaybackSource(TABLE, sizes.rows_per_day, FIRST_DAY)
    rest = list(range(1, sizes.days))
    statements = [
        f"INSERT INTO {TABLE} "
        + " UNION ALL ".join(f"({source.arrivals(number)})" for number in rest[at : at + _AT_ONCE])
        for at in range(0, len(rest), _AT_ONCE)
    ]
    job = {"job": {"id": "arrive", "type": "Sql", "script": ";\n".join(statements)}}
    return {"id": _REST, "owner": "bench", "jobs": [job]}


def few_days(site: Site, sizes: Sizes) -> Iterator[Result]:
    """Backfills of a few days around one of all days; the JVM is warm, as that of a cluster in use is."""
    starts = _starts(sizes)
    for _ in range(_WARM_UPS):
        _backfill(site, 0, sizes.few)
    few = [_backfill(site, start, sizes.few) for start in starts[: sizes.repeats]]
    every = _backfill(site, 0, sizes.days)
    few += [_backfill(site, start, sizes.few) for start in starts[sizes.repeats :]]
    overwritten = _overwrite(site, sizes)
    yield from _compare(sizes, few, every, overwritten)
    yield from _fixed(few, every)


def _backfill(site: Site, start: int, days: int) -> Cost:
    found = site.backfill(DAILY, day(start), day(start + days))
    told = f"{found.task_cpu_seconds:.2f} s of task CPU, {found.wall_seconds:.1f} s"
    print(f"{time.strftime('%H:%M:%S')} {days} days from {day(start)}: {told}", flush=True)
    return found


def _starts(sizes: Sizes) -> list[int]:
    """Where the few days begin: spread over the middle, where days are alike."""
    count = 2 * sizes.repeats
    room = sizes.days - sizes.few
    return [room * (at + 1) // (count + 1) for at in range(count)]


def _overwrite(site: Site, sizes: Sizes) -> list[Cost]:
    """All tables computed anew by one statement each, as a rebuild without Calve would do it."""
    window = {"from_day": day(0), "to_day": day(sizes.days - 1)}
    return [site.run(workflow_id, **window) for workflow_id in OVERWRITE]


def _compare(sizes: Sizes, few: Sequence[Cost], every: Cost, overwritten: Sequence[Cost]) -> Iterator[Result]:
    share = sizes.few / sizes.days
    rebuilt = {name: sum(map(take, overwritten)) for name, take in _MEASURES.items()}
    for name, take in _MEASURES.items():
        found = [take(cost) for cost in few]
        median, whole = statistics.median(found), take(every)
        details: dict[str, Any] = {
            "days": sizes.few,
            "of_days": sizes.days,
            "median": round(median, 3),
            "each": [round(value, 3) for value in found],
            "all_days": round(whole, 3),
            "all_days_by_insert_overwrite": round(rebuilt[name], 3),
            "share_of_insert_overwrite": round(median / rebuilt[name], 4) if rebuilt[name] else None,
        }
        target = Target("<=", round(_SLACK * share * 100, 3)) if name == "task CPU" else None
        case = f"{name}: {sizes.few} of {sizes.days} days, {sizes.rows_per_day:,} rows a day"
        yield Result(_PART, case, median / whole * 100, "% of all", target, details)


def _fixed(few: Sequence[Cost], every: Cost) -> Iterator[Result]:
    """What part of the work is not that of chunks."""
    for name, costs in (("a few days", few), ("all days", [every])):
        own = [1 - cost.work[CHUNKS].task_cpu_seconds / cost.task_cpu_seconds for cost in costs]
        details = {"costs": [cost.to_json() for cost in costs]}
        case = f"task CPU of clear and compare, {name}"
        yield Result(_PART, case, statistics.median(own) * 100, "% of it", None, details)
