"""Sleep steps: the clock is a value here, not something to wait for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from calve.steps import sleep
from calve.steps.contract import Ending, Finished, Running
from calve.steps.sleep import Sleep
from support.steps import make_context


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(sleep, "time", clock)
    return clock


def test_it_ends_when_its_time_is_over_whoever_asks(tmp_path: Path, clock: Clock) -> None:
    context = make_context(tmp_path, {"sleep_seconds": 10})
    started = asyncio.run(Sleep().start(context))
    assert isinstance(started, Running)
    assert started.poll_after_s == 10
    clock.now += 4
    later = asyncio.run(Sleep().poll(context, started.handle))
    assert isinstance(later, Running)
    assert later.poll_after_s == 6
    assert later.handle == started.handle
    clock.now += 6
    assert asyncio.run(Sleep().poll(context, later.handle)) == Finished.done()


def test_a_clock_that_is_set_back_does_not_make_it_longer_than_it_is(tmp_path: Path, clock: Clock) -> None:
    context = make_context(tmp_path, {"sleep_seconds": 10})
    started = asyncio.run(Sleep().start(context))
    assert isinstance(started, Running)
    clock.now -= 3600
    later = asyncio.run(Sleep().poll(context, started.handle))
    assert isinstance(later, Running)
    assert later.poll_after_s == 10


def test_without_a_param_it_sleeps_three_seconds(tmp_path: Path, clock: Clock) -> None:
    started = asyncio.run(Sleep().start(make_context(tmp_path)))
    assert isinstance(started, Running)
    assert started.poll_after_s == 3


def test_no_time_at_all_is_done_at_once(tmp_path: Path) -> None:
    assert asyncio.run(Sleep().start(make_context(tmp_path, {"sleep_seconds": 0}))) == Finished.done()


def test_it_touches_no_disk(tmp_path: Path, clock: Clock) -> None:
    context = make_context(tmp_path, {"sleep_seconds": 10})
    asyncio.run(Sleep().start(context))
    assert not context.place.exists()


def test_a_wrong_number_is_refused_for_good(tmp_path: Path) -> None:
    end = asyncio.run(Sleep().start(make_context(tmp_path, {"sleep_seconds": -1})))
    assert isinstance(end, Finished)
    assert end.ending is Ending.FATAL_ERROR
