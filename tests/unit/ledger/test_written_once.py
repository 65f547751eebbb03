"""Runs that die anywhere between capture and commit, under limits: every row is written exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.table import Table

from calve.errors import ConflictError
from calve.lake.model import Mode
from calve.ledger.ledger import Ledger
from calve.ledger.limits import CaptureLimits
from support.ledgers import append, make_table
from support.runs import Runs

pytestmark = pytest.mark.slow
numbers = count()

limits = st.one_of(
    st.none(), st.builds(CaptureLimits, max_files=st.integers(1, 3), max_rows=st.integers(1, 5) | st.none())
)
moves = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 1), st.integers(1, 3)),
    st.tuples(st.just("delete"), st.integers(0, 1), st.just(0)),
    st.tuples(st.just("start"), st.integers(0, 1), limits),
    st.tuples(st.just("fail"), st.integers(1, 7), limits),
    st.tuples(st.just("advance"), st.integers(0, 9), st.integers(1, 8)),
    st.tuples(st.just("lose"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("die"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("restart"), st.integers(0, 9), limits),
)


class World:
    """Some runs at once over two tables, and every row that was ever appended."""

    def __init__(self, ledger: Ledger, mode: Mode) -> None:
        self.mode = mode
        number = next(numbers)
        names = [f"db{number}.t", f"db{number}.u"]
        self.tables = [make_table(ledger, name) for name in names]
        target = make_table(ledger, f"db{number}.target")
        self.runs = Runs(ledger, f"c{number}", names, target, mode)
        self.going: dict[str, Iterator[str]] = {}
        self.lost: set[str] = set()
        self.started: list[str] = []
        self.appended: list[int] = []

    def append(self, at: int, rows: int) -> None:
        new = [len(self.appended) + i for i in range(rows)]
        append(self.tables[at], *new)
        self.appended += new

    def delete(self, at: int, _: int) -> None:
        """Append mode shows nothing of it; in net mode the target would have to forget rows."""
        table: Table = self.tables[at].refresh()
        live = table.scan().to_arrow()["id"].to_pylist()
        if live and self.mode is Mode.APPEND:
            table.delete(f"id = {live[0]}")

    def start(self, at: int, limit: CaptureLimits | None) -> None:
        self.append(at, 1)
        self.start_one(limit)

    def start_one(self, limit: CaptureLimits | None) -> str:
        run = f"w/{len(self.started)}/s"
        self.started.append(run)
        self.begin(run, limit)
        return run

    def fail(self, points: int, limit: CaptureLimits | None) -> None:
        """A run that dies at some point of its work."""
        self.append(points % 2, 2)
        run = self.start_one(limit)
        for _ in range(points):
            self.step(run)
        self.going.pop(run, None)
        self.runs.end(run)

    def begin(self, run: str, limit: CaptureLimits | None) -> None:
        self.runs.live.add(run)
        self.going[run] = self.runs.process(run, limit)

    def advance(self, pick: int, points: int) -> None:
        run = self.pick(sorted(self.going), pick)
        for _ in range(points if run else 0):
            self.step(run)

    def step(self, run: str) -> None:
        if run not in self.going:
            return
        try:
            point = next(self.going[run], None)
        except ConflictError:
            if run not in self.lost:
                raise
            point = None
        # The engine cancels the statements of a run before it counts as ended.
        if point is None or (point == "begun" and run in self.lost):
            self.forget(run)

    def forget(self, run: str) -> None:
        del self.going[run]
        self.lost.discard(run)

    def lose(self, pick: int, _: int) -> None:
        """The engine takes a run for ended, but its process goes on."""
        run = self.pick(sorted(self.going), pick)
        if run:
            self.runs.end(run)
            self.lost.add(run)
            self.step(run)

    def die(self, pick: int, _: int) -> None:
        run = self.pick(sorted(self.going), pick)
        if run:
            self.forget(run)
            self.runs.end(run)

    def restart(self, pick: int, limit: CaptureLimits | None) -> None:
        """A run that ended goes on under its own name; its capture may be somebody else's by now."""
        run = self.pick([x for x in self.started if x not in self.going], pick)
        if run:
            self.begin(run, limit)

    def pick(self, among: list[str], pick: int) -> str:
        return among[pick % len(among)] if among else ""

    def check(self) -> None:
        written = self.runs.written()
        assert len(set(written)) == len(written), "no row twice"
        assert set(written) <= set(self.appended)

    def finish(self) -> None:
        """All runs die, and new ones work until nothing is left."""
        self.going.clear()
        self.runs.live.clear()
        for number in range(100):
            list(self.runs.process(f"last/{number}/s", CaptureLimits(max_files=1)))
            lag = self.runs.ledger.lag(consumer=self.runs.consumer)
            if not any(x.to_json()["snapshots"] for x in lag):
                break
        assert self.runs.written() == self.appended, "every row, and each of them once"


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.NET])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(moves, min_size=5, max_size=25))
def test_every_row_is_written_exactly_once(
    ledger: Ledger, mode: Mode, history: list[tuple[str, int, object]]
) -> None:
    world = World(ledger, mode)
    for move, pick, amount in history:
        getattr(world, move)(pick, amount)
        world.check()
    world.finish()
