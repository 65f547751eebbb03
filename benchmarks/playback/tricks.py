"""What each trick brings: one day's change processed in several ways, from the plain to the tuned one.

Each way starts from the same tables: what the one before it wrote is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.playback import queries, statements
from benchmarks.playback.cycles import LATE_KEYS, Cycle, change_of, compare_pairs, split_days
from benchmarks.playback.metering import Cost
from benchmarks.playback.queries import IPS_DAILY, IPS_DAILY_AGG
from benchmarks.playback.site import Site
from calve.ledger.capture import Capture

_COPY = {"write__merge__mode": "copy-on-write"}
_MARK = {"write__merge__mode": "merge-on-read"}
_SHUFFLED = {"write__distribution_mode": "hash"}
_AS_IS = {"write__distribution_mode": "none"}


@dataclass(frozen=True)
class Way:
    """A way to process the change of one stage."""

    name: str
    statements: Callable[[str, list[str], list[str]], list[str]]
    properties: dict[str, str]


@dataclass(frozen=True)
class Tried:
    """What a way cost, and whether its result is the right one."""

    stage: int
    name: str
    cost: Cost
    equal: bool

    def to_json(self) -> dict[str, Any]:
        """The try for the results file."""
        return {"stage": self.stage, "way": self.name, "equal": self.equal, **self.cost.to_json()}


_STAGE_1 = (
    Way(
        "all merged on the 64-character id",
        lambda change, new, late: [statements.merge_events(change)],
        _SHUFFLED | _COPY,
    ),
    Way(
        "new day inserted, late rows merged, days as literals",
        lambda change, new, late: [
            statements.insert_new_days(change, new),
            statements.merge_events(change, late),
        ],
        _SHUFFLED | _COPY,
    ),
    Way(
        "… no shuffle by day before the write",
        lambda change, new, late: [
            statements.insert_new_days(change, new),
            statements.merge_events(change, late),
        ],
        _AS_IS | _MARK,
    ),
    Way(
        "… late ids looked up by a broadcast instead of MERGE",
        lambda change, new, late: [
            statements.insert_new_days(change, new),
            statements.insert_unknown_events(change, late, ("event_day", "event_id")),
        ],
        _AS_IS | _MARK,
    ),
    Way(
        "… by a hash of 64 bits and the time",
        lambda change, new, late: [
            statements.insert_new_days(change, new),
            statements.insert_unknown_events(change, late, LATE_KEYS),
        ],
        _AS_IS | _MARK,
    ),
    Way(
        "… repeated ids brought to the new rows instead of a shuffle (tuned)",
        lambda change, new, late: [
            statements.insert_new_days_in_place(change, new),
            statements.insert_unknown_events(change, late, LATE_KEYS),
        ],
        _AS_IS | _MARK,
    ),
)
_STAGE_2 = (
    Way(
        "all changed groups made anew and merged",
        lambda change, new, late: [statements.merge_changed_groups(change)],
        _SHUFFLED | _COPY,
    ),
    Way(
        "new day inserted, late groups made anew and merged, days as literals",
        lambda change, new, late: [
            statements.insert_new_groups(change, new),
            statements.merge_changed_groups(change, late),
        ],
        _SHUFFLED | _COPY,
    ),
    Way(
        "… merge on read, no shuffle by day before the write",
        lambda change, new, late: [
            statements.insert_new_groups(change, new),
            statements.merge_changed_groups(change, late),
        ],
        _AS_IS | _MARK,
    ),
    Way(
        "… late rows added to the groups instead",
        lambda change, new, late: [
            statements.insert_new_groups(change, new),
            statements.merge_additions(change, late),
        ],
        _AS_IS | _MARK,
    ),
    Way(
        "… as a broadcast, new groups apart (tuned)",
        lambda change, new, late: [
            statements.insert_new_groups(change, new),
            statements.add_to_known_groups(change, late),
            statements.insert_unknown_groups(change, late),
        ],
        _AS_IS | _MARK,
    ),
)


def try_ways(site: Site, day: int, cycle: Cycle) -> Iterator[Tried]:
    """All ways over the change of a day that was just processed; the tables are left as they were."""
    sources = {1: site.source.table, 2: f"lake.{IPS_DAILY}"}
    starts = {1: site.snapshots[day - 1], 2: cycle.snapshots[IPS_DAILY]}
    for stage, table, ways in ((1, IPS_DAILY, _STAGE_1), (2, IPS_DAILY_AGG, _STAGE_2)):
        capture = site.ledger.capture(sources[stage], consumer=site.consumer(), start_from=starts[stage])
        after = site.head(table)
        for way in ways:
            site.roll_back(table, cycle.snapshots[table])
            yield _try(site, day, stage, way, capture, table)
        site.roll_back(table, after)
        capture.release()


def _try(site: Site, day: int, stage: int, way: Way, capture: Capture, table: str) -> Tried:
    site.set_properties(table, **way.properties)
    new, late = split_days(site, capture, table)
    cost = site.meter.run(*way.statements(change_of(capture), new, late))
    equal = compare_pairs(site, day, [stage])[0].is_equal
    return Tried(stage, way.name, cost, equal)


def tuned_lookback(site: Site, day: int) -> Iterator[Tried]:
    """The lookback pair given the tricks that it can use, too."""
    for table in (queries.DAILY, queries.DAILY_AGG):
        site.set_properties(table, write__spark__fanout__enabled="true", **_AS_IS)
    window = site.window(day)
    lookbacks = (queries.lookback_daily_in_place(*window), queries.lookback_agg(*window))
    names = (
        "lookback, repeated ids brought to the rows, no shuffle by day before the write",
        "lookback, no shuffle by day before the write",
    )
    for stage, (statement, name) in enumerate(zip(lookbacks, names, strict=True), start=1):
        cost = site.meter.run(statement)
        equal = compare_pairs(site, day, [stage])[0].is_equal
        yield Tried(stage, name, cost, equal)
    for table in (queries.DAILY, queries.DAILY_AGG):
        site.set_properties(table, **_SHUFFLED)
