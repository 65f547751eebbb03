"""A daily cycle of each pair, measured statement by statement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.playback import queries
from benchmarks.playback.metering import Cost, total
from benchmarks.playback.queries import IPS_DAILY, IPS_DAILY_AGG
from benchmarks.playback.site import Site
from calve.cli.definitions import load_file
from calve.demo.comparison import Comparison, compare
from calve.ledger.capture import Capture
from calve.steps.patterns.preview import preview
from calve.steps.registry import RegisteredTypes
from calve.workflow.definition.model import Workflow


@dataclass(frozen=True)
class Stage:
    """What one stage of a cycle cost, in its parts, and what its change was."""

    parts: dict[str, Cost]
    capture_seconds: float = 0.0
    change_rows: int = 0

    @property
    def cost(self) -> Cost:
        """All parts together."""
        return total(list(self.parts.values()))

    def to_json(self) -> dict[str, Any]:
        """The stage for the results file."""
        return {
            **self.cost.to_json(),
            "parts": {name: cost.to_json() for name, cost in self.parts.items()},
            "capture_seconds": round(self.capture_seconds, 3),
            "change_rows": self.change_rows,
        }


@dataclass(frozen=True)
class Cycle:
    """One day of both pairs."""

    day: str
    lookback: tuple[Stage, Stage]
    incremental: tuple[Stage, Stage]
    equal: tuple[Comparison, ...] = ()
    lost_rows: int = 0
    snapshots: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The cycle for the results file."""
        return {
            "day": self.day,
            "lookback": [stage.to_json() for stage in self.lookback],
            "incremental": [stage.to_json() for stage in self.incremental],
            "equal": [found.to_json() for found in self.equal],
            "rows_later_than_the_window": self.lost_rows,
        }


class Pairs:
    """Both pairs on one source."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._first, self._second = site.consumer(), site.consumer()

    def lookback(self, day: int) -> tuple[Stage, Stage]:
        """All of the window made anew."""
        window, run = self.site.window(day), self.site.meter.run
        first = run(queries.lookback_daily(*window))
        return Stage({"lookback": first}), Stage({"lookback": run(queries.lookback_agg(*window))})

    def incremental(self) -> tuple[Stage, Stage]:
        """What changed, and only that."""
        return (
            self._stage(self.site.source.table, self._first, "ips_playback_daily.yaml"),
            self._stage(f"lake.{IPS_DAILY}", self._second, "ips_playback_daily_agg.yaml"),
        )

    def _stage(self, source: str, consumer: str, file: str) -> Stage:
        """Capture, run what the workflow's template makes of the capture, commit."""
        start = time.perf_counter()
        capture = self.site.ledger.capture(source, consumer=consumer)
        seconds = time.perf_counter() - start
        previews = preview(self.site.ledger, _workflow(file), capture_id=capture.id)
        parts: dict[str, Cost] = {}
        for statement in [found for one in previews for found in one.rendered.statements]:
            parts[statement.comment] = self.site.meter.run(statement.text)
        capture.commit()
        return Stage(parts, seconds, capture.records)

    def cycle(self, day: int) -> Cycle:
        """A day arrives, and both pairs process it."""
        site = self.site
        before = {name: site.head(name) for name in (IPS_DAILY, IPS_DAILY_AGG)}
        site.arrive(day)
        lookback, incremental = self.lookback(day), self.incremental()
        equal = compare_pairs(site, day)
        return Cycle(str(site.source.day(day)), lookback, incremental, equal, lost_rows(site, day), before)


def _workflow(file: str) -> Workflow:
    return load_file(queries.FOLDER / file, RegisteredTypes()).definition.workflow


#: The hash of the event's id, and its time: more than a hundred bits, read as two numbers.
LATE_KEYS = ("event_key", "event_ts")


def change_of(capture: Capture) -> str:
    """The table that shows a capture's change."""
    return str(capture.changes.icdc_table)


def split_days(site: Site, capture: Capture, target: str) -> tuple[list[str], list[str]]:
    """The days of a change that the target has no partition for, and the others."""
    days = sorted({str(partition["event_day"]) for partition in capture.changes.partitions})
    rows = site.spark.sql(f"SELECT CAST(partition.event_day AS STRING) FROM {target}.partitions").collect()
    known = {row[0] for row in rows}
    return [day for day in days if day not in known], [day for day in days if day in known]


def compare_pairs(site: Site, day: int, stages: Sequence[int] = (1, 2)) -> tuple[Comparison, ...]:
    """Whether both pairs have the same rows on all days that the lookback has looked at."""
    first, last = site.window(day)
    where = f"event_day BETWEEN DATE '{first}' AND DATE '{last}'"
    # Compared by what it estimates: sketches of the same values may differ in their bytes.
    viewers = "theta_sketch_estimate(viewers)"
    tables = {
        1: (queries.DAILY, IPS_DAILY, queries.DAILY_COLUMNS),
        2: (queries.DAILY_AGG, IPS_DAILY_AGG, [*queries.AGG_COLUMNS, viewers]),
    }
    found = (tables[stage] for stage in stages)
    return tuple(
        compare(site.spark, left, right, columns, "event_day", where) for left, right, columns in found
    )


def lost_rows(site: Site, day: int) -> int:
    """Events that came after their day had left the window: the incremental pair has them."""
    before = site.window(day)[0]
    counts = [
        site.spark.sql(f"SELECT count(*) FROM {table} WHERE event_day < DATE '{before}'").collect()[0][0]
        for table in (IPS_DAILY, queries.DAILY)
    ]
    return int(counts[0] - counts[1])
