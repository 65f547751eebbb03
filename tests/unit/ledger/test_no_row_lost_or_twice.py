"""Writers, consumers, crashes, expiry and rollback in any order, on real tables.

The model is a plain dictionary of rows. No row is lost, and none is handed out twice to a
consumer by captures that it committed.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from calve.errors import ConflictError, RefusedError
from calve.lake.model import Changes, Segment
from calve.ledger.capture import Capture
from calve.ledger.ledger import Ledger
from support.faults import Died, break_write, die_after, die_before
from support.ledgers import make_ledger, make_table, rows
from support.row_model import Rows, TableModel

CONSUMERS = {
    "append": ("append", ["db.t"]),
    "append-two": ("append", ["db.t", "db.u"]),
    "net": ("net", ["db.t"]),
    "net-two": ("net", ["db.t", "db.u"]),
}
REFUSALS = {"HISTORY_REWRITTEN", "HISTORY_EXPIRED"}
consumers = st.sampled_from(sorted(CONSUMERS))
tables = st.sampled_from(["db.t", "db.t", "db.u"])


@dataclass
class Account:
    """What a consumer was given, and committed, in one table since its position was last placed."""

    start: int | None = None
    committed: Rows = field(default_factory=Counter)
    unseen: Rows = field(default_factory=Counter)  # deleted before history expired, before the first capture


@dataclass
class Held:
    """An open capture, and the rows that were read from its tables when it was given out."""

    consumer: str
    shown: dict[str, Any]
    given: dict[str, Rows]
    unseen: dict[str, Rows]


class Consumers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name) / "home"
        self.ledger: Ledger = make_ledger(self.home)
        self.tables = {
            name: TableModel(make_table(self.ledger, name), i) for name, i in (("db.t", 1), ("db.u", 10**6))
        }
        self.accounts = {(who, table): Account() for who, (_, named) in CONSUMERS.items() for table in named}
        self.open: dict[str, Held] = {}
        self.ended: dict[str, str] = {}

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()

    # Writers

    @initialize(rows=st.integers(0, 3))
    def begin(self, rows: int) -> None:
        if rows:
            self.tables["db.t"].append(rows)

    @rule(table=tables, rows=st.integers(1, 3))
    def write(self, table: str, rows: int) -> None:
        self.append(table, rows)

    def append(self, table: str, rows: int) -> None:
        self.tables[table].append(rows)

    @rule(table=tables, data=st.data())
    def delete(self, table: str, data: st.DataObject) -> None:
        model = self.tables[table]
        if model.live:
            model.delete(data.draw(st.sets(st.sampled_from(sorted(model.live)), min_size=1, max_size=3)))

    @rule(data=st.data())
    def move_back_or_forth(self, data: st.DataObject) -> None:
        model = self.tables["db.t"]
        if model.snapshots:
            model.go_to(data.draw(st.sampled_from(model.snapshots)))

    @rule(table=tables, data=st.data())
    def expire(self, table: str, data: st.DataObject) -> None:
        model = self.tables[table]
        if model.snapshots:
            model.expire(data.draw(st.lists(st.sampled_from(model.snapshots), max_size=2, unique=True)))

    # Consumers

    @rule(consumer=consumers, captures=st.integers(2, 3), data=st.data())
    def work_in_parallel(self, consumer: str, captures: int, data: st.DataObject) -> None:
        """Several captures at once, then one that is not the newest goes back, and one is done."""
        for _ in range(captures):
            self.append(data.draw(tables), 1)
            self.capture(consumer, parallel=True)
        self.settle_one(data, self.release)
        self.settle_one(data, self.commit)

    def settle_one(self, data: st.DataObject, settle: Callable[[str], None]) -> None:
        if self.open:
            settle(data.draw(st.sampled_from(list(self.open))))

    @rule(consumer=consumers, parallel=st.booleans())
    def capture_one(self, consumer: str, parallel: bool) -> None:
        self.capture(consumer, parallel)

    def capture(self, consumer: str, parallel: bool) -> None:
        mode, named = CONSUMERS[consumer]
        before = [held for held in self.open.values() if held.consumer == consumer]
        reserved = self.reserved()
        try:
            capture = self.ledger.capture(*named, consumer=consumer, mode=mode, parallel=parallel)
        except RefusedError as error:
            self.refused(consumer, error)
            return
        self.forget_superseded()
        if capture.id in self.open:
            assert capture.to_json() == self.open[capture.id].shown, "given back as it was"
            return
        # What a dead process had reserved is open as well, though nobody has seen it yet.
        waiting = [held for held in before if self.is_open(held) and self.has_rows(held)]
        assert parallel or capture.id in reserved or not waiting
        self.open[capture.id] = self.read(consumer, mode, capture)

    def reserved(self) -> set[str]:
        """All captures that are open, those of dead processes too."""
        shown = [checkpoint.to_json() for checkpoint in self.ledger.checkpoints()]
        return {capture["capture_id"] for one in shown for capture in one["open_captures"]}

    def read(self, consumer: str, mode: str, capture: Capture) -> Held:
        held = Held(consumer, capture.to_json(), {}, {})
        for changes in capture.sources:
            name = changes.table.removeprefix("lake.")
            model = self.tables[name]
            held.given[name] = self.read_table(model, mode, changes)
            firsts = [x for x in changes.segments if x.from_snapshot_exclusive is None]
            held.unseen[name] = Counter()
            for first in firsts if mode == "append" else ():
                held.unseen[name] = model.ever_appended(first) - model.appends(first)
        return held

    def read_table(self, model: TableModel, mode: str, changes: Changes) -> Rows:
        found = Counter(rows(changes.icdc_metadata_location))
        if mode == "append":
            expected: Rows = sum((model.appends(segment) for segment in changes.segments), Counter())
            assert found == expected
            return found
        found.subtract(Counter(rows(changes.removed_metadata_location)))
        (segment,) = changes.segments
        assert +found == +model.net(segment)
        assert -found == -model.net(segment)
        return found

    def refused(self, consumer: str, error: RefusedError) -> None:
        """A refusal names the choices; take one of them."""
        assert error.code in REFUSALS, error
        assert "checkpoint" in error.remedy
        _, named = CONSUMERS[consumer]
        assert any(self.tables[name].disturbed for name in named)
        for name in named:
            self.ledger.set_checkpoint(name, consumer=consumer, snapshot="latest", force=True)
            self.accounts[consumer, name] = Account(start=self.tables[name].current)
        self.forget_superseded()

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def commit_one(self, data: st.DataObject) -> None:
        self.settle_one(data, self.commit)

    def commit(self, capture_id: str) -> None:
        self.ledger.commit(capture_id)
        held = self.open.pop(capture_id)
        self.ended[capture_id] = "committed"
        for name, given in held.given.items():
            account = self.accounts[held.consumer, name]
            account.committed.update(given)
            account.unseen.update(held.unseen[name])

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def release_one(self, data: st.DataObject) -> None:
        self.settle_one(data, self.release)

    def release(self, capture_id: str) -> None:
        self.ledger.release(capture_id)
        del self.open[capture_id]
        self.ended[capture_id] = "released"

    @precondition(lambda self: self.ended)
    @rule(data=st.data())
    def commit_again(self, data: st.DataObject) -> None:
        capture_id = data.draw(st.sampled_from(list(self.ended)))
        if self.ended[capture_id] == "committed":
            self.ledger.commit(capture_id)
        else:
            with pytest.raises(ConflictError):
                self.ledger.commit(capture_id)

    @rule(consumer=consumers, dying=st.sampled_from([die_before, die_after]), parallel=st.booleans())
    def die_while_capturing(
        self, consumer: str, dying: Callable[[Callable[..., Any]], Callable[..., Any]], parallel: bool
    ) -> None:
        mode, named = CONSUMERS[consumer]
        with pytest.MonkeyPatch.context() as patch:
            break_write(patch, dying)
            try:
                self.ledger.capture(*named, consumer=consumer, mode=mode, parallel=parallel)
            except Died:
                self.restart()
            except RefusedError as error:
                self.refused(consumer, error)
        self.forget_superseded()

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        self.ledger = make_ledger(self.home)

    @rule()
    def collect(self) -> None:
        """Garbage is collected while captures are open."""
        self.ledger.gc(timedelta(0))

    def forget_superseded(self) -> None:
        for capture_id, held in list(self.open.items()):
            if not self.is_open(held):
                del self.open[capture_id]
                self.ended[capture_id] = "released"

    def is_open(self, held: Held) -> bool:
        return self.ledger.get(held.shown["capture_id"]).record.status == "open"

    def has_rows(self, held: Held) -> bool:
        shown = held.shown.get("sources", [held.shown])
        return any(source["has_changes"] for source in shown)

    # What must be true

    @invariant()
    def committed_captures_add_up_to_the_checkpoint(self) -> None:
        for checkpoint in self.ledger.checkpoints():
            shown = checkpoint.to_json()
            name = shown["table"].removeprefix("lake.")
            account, model = self.accounts[shown["consumer"], name], self.tables[name]
            covered = [Segment(account.start, shown["snapshot_id"])]
            covered += [Segment(start, end) for start, end in shown["committed_ahead"]]
            if CONSUMERS[shown["consumer"]][0] == "net":
                expected: Rows = Counter()
                for segment in covered:
                    expected.update(model.net(segment))
                assert {x: n for x, n in account.committed.items() if n} == {
                    x: n for x, n in expected.items() if n
                }
            else:
                self.check_appends(account, model, covered)

    def check_appends(self, account: Account, model: TableModel, covered: list[Segment]) -> None:
        assert all(times == 1 for times in account.committed.values()), "no row twice"
        ever: Rows = sum((model.ever_appended(segment) for segment in covered), Counter())
        assert account.committed + account.unseen == ever, "no row lost, and none that was not appended"


@pytest.mark.slow
class TestConsumers(Consumers.TestCase):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=20, stateful_step_count=30)
