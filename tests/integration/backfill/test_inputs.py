"""A stage downstream begins where its consumer has come. No engine is at work here."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from calve.backfill.records import TargetState
from calve.backfill.stages.inputs import account_for_inputs, take_over
from calve.backfill.stages.work import Work, load_work
from calve.backfill.statuses import Phase
from calve.backfill.store import read_stage, save_stage
from calve.errors import CalveError
from calve.ledger.ledger import Ledger
from calve.ledger.writes import note_begun, note_landed
from calve.steps.incremental.shared import ledger_of
from support.backfill_world import SCHEMA, World

CONSUMER = "b/capture"


class Downstream:
    """Stage 0 has published a snapshot of `db.daily`; stage 1 is about to begin."""

    def __init__(self, chain: World) -> None:
        self.chain = chain
        chain.calve.engine.stop()
        self.ledger: Ledger = ledger_of(chain.calve.settings)

    def publish(self) -> Work:
        planned = self.chain.keep("a", "2024-01-02", "2024-01-04").id
        started = self.chain.backfills.start(planned, "ada")
        before = self.head()
        after = self.write()
        published = TargetState(before, published_from=before, published_to=after)
        with self.chain.calve.database.write() as connection:
            stage = read_stage(connection, started, 0)
            for phase in (Phase.PREPARING, Phase.RUNNING, Phase.VALIDATING, Phase.PUBLISHING):
                state = replace(stage.state, targets={"lake.db.daily": published})
                stage = save_stage(connection, stage, phase, state)
        return load_work(self.chain.calve.calve, self.ledger, planned, 1, lambda _: None, 1)

    def write(self) -> int:
        row = pa.table({"day": [date(2024, 1, 2)], "id": [77]}, schema=SCHEMA)
        self.chain.catalog.load_table("db.daily").append(row)
        return self.head()

    def head(self) -> int:
        found = self.chain.catalog.load_table("db.daily").current_snapshot()
        assert found is not None
        return found.snapshot_id


@pytest.fixture
def downstream(chain: World) -> Downstream:
    return Downstream(chain)


def test_what_the_consumer_has_not_taken_is_brought_and_accounted_for(downstream: Downstream) -> None:
    ledger = downstream.ledger
    ledger.capture("db.daily", consumer=CONSUMER, mode="net").commit()
    reached = downstream.head()
    downstream.write()
    work = take_over(downstream.publish())
    assert work is not None
    assert work.state.inputs == {"lake.db.daily": (reached, downstream.head())}
    assert not ledger.capture("db.daily", consumer=CONSUMER, mode="net").has_changes
    account_for_inputs(work)
    assert ledger.accounted_up_to(CONSUMER, "db.daily") == downstream.head()
    assert ledger.holds(CONSUMER) == []


def test_a_run_that_ended_without_a_word_leaves_its_changes_to_the_backfill(downstream: Downstream) -> None:
    ledger = downstream.ledger
    open_one = ledger.capture("db.daily", consumer=CONSUMER, mode="net", run_ref="b/1/capture")
    work = take_over(downstream.publish())
    assert work is not None
    assert work.state.inputs is not None
    assert work.state.inputs["lake.db.daily"][1] == downstream.head()
    assert ledger.get(open_one.id).record.status == "released"


def test_a_run_that_died_amid_its_writes_has_to_be_restarted_first(downstream: Downstream) -> None:
    ledger = downstream.ledger
    open_one = ledger.capture("db.daily", consumer=CONSUMER, mode="net", run_ref="b/1/capture")
    with ledger.database.write() as connection:
        note_begun(connection, open_one.id, "write/1", "lake.db.agg", "hash")
        note_landed(connection, open_one.id, "write/1", 1, "hash")
    with pytest.raises(CalveError) as caught:
        take_over(downstream.publish())
    assert caught.value.code == "CAPTURE_UNFINISHED"
