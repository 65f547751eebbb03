"""Holds: what a backfill publishes is processed once, whatever regular captures do meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.table import Table

from calve.errors import CalveError
from calve.lake import open_table
from calve.lake.model import Segment
from calve.ledger.capture import Capture
from calve.ledger.holds import Hold, drop_hold, put_hold, settle_hold
from calve.ledger.ledger import Ledger
from support.ledgers import added, append, code_of, head, make_ledger, make_table

BACKFILL = 7
CONSUMER = "w/capture"

pytestmark = pytest.mark.slow


@pytest.fixture
def sqlite_ledger(home: Path) -> Iterator[Ledger]:
    """A ledger for many examples."""
    with make_ledger(home) as made:
        made.lake.catalog("lake").create_namespace("db")
        yield made


class Publishing:
    """A backfill that publishes to a table, in the order in which it may do so, beside a consumer."""

    def __init__(self, ledger: Ledger, table: Table, mode: str) -> None:
        self.ledger, self.table, self.mode = ledger, table, mode
        self.name = ".".join(table.name())
        self.next_id = 1
        self.regular: list[int] = []
        self.published: list[int] = []
        self.open: Capture | None = None
        self.span: Segment | None = None
        self.is_held = False

    @property
    def uuid(self) -> str:
        return str(self.table.metadata.table_uuid)

    def head(self) -> int | None:
        current = self.table.refresh().current_snapshot()
        return None if current is None else current.snapshot_id

    def write(self) -> int:
        """Others write a row."""
        append(self.table, self.next_id)
        self.next_id += 1
        return self.next_id - 1

    def hold(self) -> None:
        with self.ledger.database.write() as connection:
            put_hold(connection, CONSUMER, self.uuid, "main", BACKFILL, self.head())
        self.is_held = True

    def publish(self) -> None:
        """On top of what is there by then."""
        before = self.head()
        self.published.append(self.write())
        self.span = Segment(before, self.head())

    def settle(self) -> bool:
        assert self.span is not None
        metadata = open_table(self.ledger.lake, self.name).metadata
        with self.ledger.database.write() as connection:
            done = settle_hold(connection, CONSUMER, self.uuid, "main", BACKFILL, self.span, metadata)
        self.span, self.is_held = None, False
        return done

    def capture(self) -> None:
        self.open = self.ledger.capture(self.name, consumer=CONSUMER, mode=self.mode)

    def commit(self) -> None:
        assert self.open is not None
        self.regular += added(self.open.changes)
        self.open.commit()
        self.open = None

    def release(self) -> None:
        assert self.open is not None
        self.open.release()
        self.open = None

    def finish(self) -> None:
        """Until nothing is left to be processed."""
        if self.open is not None:
            self.commit()
        if self.is_held and self.span is None:
            self.publish()
        if self.is_held:
            self.settle()
        while True:
            self.capture()
            assert self.open is not None
            if not self.open.has_changes:
                return
            self.commit()


def moves_of(one: Publishing) -> dict[str, Callable[[], object]]:
    """What may happen next."""
    free = one.open is None
    found: dict[str, Callable[[], object]] = {"write": one.write}
    found |= {"capture": one.capture} if free else {"commit": one.commit, "release": one.release}
    if not one.is_held:
        found |= {"hold": one.hold}
    else:
        found |= {"publish": one.publish} if one.span is None else {"settle": one.settle}
    return found


@pytest.mark.parametrize("mode", ["append", "net"])
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(picks=st.lists(st.integers(0, 11), max_size=14), is_known=st.booleans())
def test_every_row_is_processed_once_by_the_consumer_or_by_the_backfill(
    sqlite_ledger: Ledger, mode: str, picks: list[int], is_known: bool
) -> None:
    number = len(sqlite_ledger.lake.catalog("lake").list_tables("db"))
    table = make_table(sqlite_ledger, f"db.t{number}")
    one = Publishing(sqlite_ledger, table, mode)
    one.write()
    one.capture()
    if is_known:
        one.commit()
    else:
        one.release()
    for pick in picks:
        moves = sorted(moves_of(one).items())
        moves[pick % len(moves)][1]()
    one.finish()
    assert sorted([*one.regular, *one.published]) == list(range(1, one.next_id))


def test_a_capture_that_looked_for_holds_too_early_takes_nothing_that_is_published(
    ledger: Ledger, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Publishing(ledger, table, "append")
    one.write()
    one.capture()
    one.commit()
    one.write()
    look = ledger._store.holds

    def late(consumer: str) -> list[Hold]:
        monkeypatch.setattr(ledger._store, "holds", look)
        found = look(consumer)
        one.hold()
        one.publish()
        return found

    monkeypatch.setattr(ledger._store, "holds", late)
    one.capture()
    assert one.open is not None
    assert added(one.open.changes) == [2]
    one.finish()
    assert (one.regular, one.published) == ([1, 2], [3])


def test_a_consumer_without_a_position_has_none_after_settling(ledger: Ledger, table: Table) -> None:
    one = Publishing(ledger, table, "append")
    one.write()
    one.hold()
    one.publish()
    assert one.settle()
    assert ledger.checkpoints() == []
    assert ledger.accounted_up_to(CONSUMER, "db.t") is None


def test_settling_twice_changes_nothing(ledger: Ledger, table: Table) -> None:
    one = Publishing(ledger, table, "append")
    one.write()
    one.capture()
    one.commit()
    one.hold()
    one.publish()
    span = one.span
    assert one.settle()
    one.span = span
    assert not one.settle()
    assert ledger.accounted_up_to(CONSUMER, "db.t") == head(table)


def test_a_checkpoint_that_was_moved_past_the_hold_by_hand_stays(ledger: Ledger, table: Table) -> None:
    one = Publishing(ledger, table, "net")
    one.write()
    one.capture()
    one.commit()
    one.hold()
    one.publish()
    ledger.set_checkpoint("db.t", consumer=CONSUMER, snapshot="latest")
    one.capture()
    assert one.open is not None
    assert not one.open.has_changes
    assert one.settle()
    assert ledger.accounted_up_to(CONSUMER, "db.t") == head(table)
    assert ledger.checkpoints()[0].position.chain.links == ()


def test_a_dropped_hold_leaves_everything_to_the_consumer(ledger: Ledger, table: Table) -> None:
    one = Publishing(ledger, table, "append")
    one.write()
    one.hold()
    one.publish()
    with ledger.database.write() as connection:
        assert drop_hold(connection, CONSUMER, one.uuid, "main", BACKFILL)
        assert not drop_hold(connection, CONSUMER, one.uuid, "main", BACKFILL)
    one.capture()
    assert one.open is not None
    assert added(one.open.changes) == [1, 2]


def test_two_backfills_do_not_hold_one_consumer(ledger: Ledger, table: Table) -> None:
    one = Publishing(ledger, table, "append")
    one.hold()
    with pytest.raises(CalveError) as error, ledger.database.write() as connection:
        put_hold(connection, CONSUMER, one.uuid, "main", BACKFILL + 1, None)
    assert code_of(error) == "BACKFILL_HOLD_TAKEN"
