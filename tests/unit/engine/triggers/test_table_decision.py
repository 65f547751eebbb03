"""When a trigger on tables starts its workflow: the rules one by one, and over random histories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.engine.model.statuses import RunStatus
from calve.engine.triggers.tables.decision import (
    Amounts,
    Decision,
    LastStart,
    TableLook,
    What,
    decide,
    sum_up,
)
from calve.errors import NotFoundError
from calve.workflow.definition.incremental import IncrementalTrigger

NOW = 1_700_000_000_000
MINUTE = 60_000


def trigger(**keys: Any) -> IncrementalTrigger:
    return IncrementalTrigger.model_validate({"tables": ["db.t"], **keys})


def waiting(
    snapshots: int = 1, *, fresh: int = 0, progressed: bool = False, age_ms: int = 0, **amounts: int
) -> TableLook:
    return TableLook(
        "lake.db.t",
        "main",
        "w/capture",
        7,
        Amounts(snapshots, **amounts),
        NOW - age_ms if snapshots else None,
        fresh,
        progressed,
    )


def ended(status: RunStatus | None, ago_ms: int = 0, **more: Any) -> LastStart:
    return LastStart(NOW - ago_ms, 3, status, **more)


def look(
    *tables: TableLook, last: LastStart | None = None, since: int | None = None, **keys: Any
) -> Decision:
    return decide(trigger(**keys), tables, last, since, NOW)


def test_a_first_change_starts_and_nothing_to_process_does_not() -> None:
    assert look(waiting()).what is What.START
    assert look(waiting(0)).what is What.NOTHING


@pytest.mark.parametrize("status", [RunStatus.CREATED, RunStatus.IN_PROGRESS])
def test_nothing_starts_while_the_last_instance_has_not_ended(status: RunStatus) -> None:
    assert look(waiting(fresh=1), last=ended(status)).what is What.RUNNING


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.STOPPED, RunStatus.TIMED_OUT])
def test_after_a_failure_only_something_new_starts(status: RunStatus) -> None:
    assert look(waiting(progressed=True), last=ended(status)).what is What.HELD
    assert look(waiting(2, fresh=1), last=ended(status)).what is What.START
    assert look(waiting(), last=ended(status, is_outdated=True)).what is What.START


def test_what_is_left_after_a_success_starts_if_the_last_instance_got_anywhere() -> None:
    assert look(waiting(progressed=True), last=ended(RunStatus.SUCCEEDED)).what is What.START
    assert look(waiting(), last=ended(RunStatus.SUCCEEDED)).what is What.HELD
    assert look(waiting(), waiting(progressed=True), last=ended(RunStatus.SUCCEEDED)).what is What.START


def test_a_refused_start_is_not_tried_again_until_something_changes() -> None:
    refused = LastStart(NOW, None, None)
    assert look(waiting(), last=refused).what is What.HELD
    assert look(waiting(fresh=1), last=refused).what is What.START


def test_an_instance_that_was_deleted_holds_nothing() -> None:
    assert look(waiting(), last=ended(None)).what is What.START


def test_starts_are_spaced() -> None:
    early = look(waiting(fresh=1), last=ended(RunStatus.SUCCEEDED, MINUTE), every="15m")
    assert (early.what, early.look_at_ms) == (What.WAITING, NOW + 14 * MINUTE)
    assert (
        look(waiting(fresh=1), last=ended(RunStatus.SUCCEEDED, 15 * MINUTE), every="15m").what is What.START
    )
    assert look(waiting(), every="15m").what is What.START


def test_any_threshold_is_enough() -> None:
    least: dict[str, Any] = {"min_files": 10, "min_rows": 1000, "min_bytes": 5}
    few = look(waiting(files=9, rows=999, bytes=4), **least)
    assert (few.what, few.look_at_ms) == (What.WAITING, None)
    for enough in (waiting(files=10), waiting(rows=1000), waiting(bytes=5)):
        assert look(enough, **least).what is What.START
    assert look(waiting(files=6), waiting(files=6), **least).what is What.WAITING, "one table, two consumers"
    other = TableLook("lake.db.u", "main", None, 8, Amounts(1, 4), NOW)
    assert look(waiting(files=6), other, **least).what is What.START


def test_a_change_waits_no_longer_than_max_delay() -> None:
    keys: dict[str, Any] = {"min_rows": 1000, "max_delay": "1h"}
    young = look(waiting(rows=1, age_ms=10 * MINUTE), **keys)
    assert (young.what, young.look_at_ms) == (What.WAITING, NOW + 50 * MINUTE)
    assert young.waiting_since_ms == NOW - 10 * MINUTE
    assert look(waiting(rows=1, age_ms=60 * MINUTE), **keys).what is What.START
    ahead = look(waiting(rows=1, age_ms=-90 * MINUTE), since=NOW - 60 * MINUTE, **keys)
    assert ahead.what is What.START, "a writer's clock that is ahead delays nothing further"


def test_a_table_that_cannot_be_read_starts_nothing_and_is_tried_again() -> None:
    broken = TableLook("db.u", "main", error=NotFoundError("TABLE_NOT_FOUND", "there is no table db.u", ""))
    found = look(waiting(fresh=1), broken)
    assert (found.what, found.why) == (What.ERROR, "there is no table db.u")
    assert found.look_at_ms is not None
    assert look(broken, last=ended(RunStatus.IN_PROGRESS)).what is What.RUNNING


def test_amounts_of_a_table_with_several_consumers_count_once() -> None:
    assert sum_up([waiting(2, files=3), waiting(1, files=5)]) == Amounts(2, 5)


# Histories


@dataclass
class World:
    """One table, one consumer, and instances that end as they are told to."""

    trigger: IncrementalTrigger
    now: int = NOW
    #: When each snapshot came, and how many rows it has.
    snapshots: list[tuple[int, int]] = field(default_factory=list)
    committed: int = 0
    seen: int = 0
    committed_at_start: int = 0
    since: int | None = None
    last: LastStart | None = None
    starts: list[int] = field(default_factory=list)
    decision: Decision | None = None

    def look(self) -> What:
        left = self.snapshots[self.committed :]
        found = TableLook(
            "t",
            "main",
            "c",
            len(self.snapshots),
            Amounts(len(left), len(left), sum(rows for _, rows in left)),
            left[0][0] if left else None,
            len(self.snapshots) - max(self.seen, self.committed),
            self.committed != self.committed_at_start,
        )
        self.decision = decide(self.trigger, [found], self.last, self.since, self.now)
        self.since = self.decision.waiting_since_ms
        if self.decision.what is What.START:
            self._start(left)
        return self.decision.what

    def _start(self, left: list[tuple[int, int]]) -> None:
        assert left, "a start without anything to process"
        assert self.last is None or not self.last.is_running, "two instances at a time"
        if self.starts and self.trigger.every_ms is not None:
            assert self.now - self.starts[-1] >= self.trigger.every_ms
        if self.trigger.min_rows is not None:
            delay = self.trigger.max_delay_ms
            is_due = delay is not None and self.now >= left[0][0] + delay
            assert sum(rows for _, rows in left) >= self.trigger.min_rows or is_due
        self.starts.append(self.now)
        self.seen, self.committed_at_start = len(self.snapshots), self.committed
        self.last = LastStart(self.now, len(self.starts), RunStatus.IN_PROGRESS)

    def end(self, status: RunStatus, commits: int) -> None:
        if self.last is not None and self.last.is_running:
            if status is RunStatus.SUCCEEDED:
                self.committed = min(len(self.snapshots), self.committed + commits)
            self.last = LastStart(self.last.at_ms, self.last.instance_id, status)


ENDS = st.sampled_from([RunStatus.SUCCEEDED, RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.STOPPED])
EVENTS = st.lists(
    st.tuples(st.just("change"), st.integers(1, 50))
    | st.tuples(st.just("tick"), st.integers(1, 40 * MINUTE))
    | st.tuples(st.just("end"), ENDS, st.integers(0, 5)),
    max_size=40,
)
TRIGGERS = st.fixed_dictionaries(
    {}, optional={"every": st.just("15m"), "min_rows": st.integers(1, 100), "max_delay": st.just("1h")}
)


def play(world: World, events: list[Any]) -> None:
    for event in events:
        match event:
            case ("change", rows):
                world.snapshots.append((world.now, rows))
            case ("tick", span):
                world.now += span
            case ("end", status, commits):
                world.end(status, commits)
        world.look()
        assert world.look() is not What.START, "one look after the other starts two"


@given(TRIGGERS, EVENTS)
def test_over_any_history_everything_is_processed_and_nothing_in_a_hot_loop(
    keys: dict[str, Any], events: list[Any]
) -> None:
    world = World(trigger(**keys))
    play(world, events)
    # A change that comes last, and runs that succeed from then on: all of it is processed.
    world.snapshots.append((world.now, 1))
    before = len(world.starts)
    for _ in range(2 * len(world.snapshots) + 4):
        world.end(RunStatus.SUCCEEDED, 1_000)
        world.look()
        world.now += 2 * 60 * MINUTE
    if "min_rows" not in keys or "max_delay" in keys:
        assert world.committed == len(world.snapshots)
        assert world.look() is What.NOTHING
    assert len(world.starts) - before <= 2, "what is there at once is one run, or two if one was under way"


@given(TRIGGERS, EVENTS)
def test_over_any_history_runs_that_get_nowhere_are_started_by_changes_alone(
    keys: dict[str, Any], events: list[Any]
) -> None:
    world = World(trigger(**keys))
    play(world, events)
    before = len(world.starts)
    for _ in range(20):
        world.end(RunStatus.FAILED, 0)
        world.now += 2 * 60 * MINUTE
        world.look()
    assert len(world.starts) - before <= 1


@given(st.integers(1, 10))
def test_changes_during_a_run_start_exactly_one_more(changes: int) -> None:
    world = World(trigger())
    play(world, [("change", 1), *[("change", 1)] * changes])
    assert len(world.starts) == 1
    play(world, [("end", RunStatus.SUCCEEDED, 1)])
    assert len(world.starts) == 2
    play(world, [("end", RunStatus.SUCCEEDED, changes), ("tick", 1)])
    assert len(world.starts) == 2
