"""Somebody writes main in the very moment in which a stage is published. No engine is at work here."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from calve.backfill.stages import publishing
from calve.backfill.stages.preparing import cut_branches, pin
from calve.backfill.stages.publishing import publish
from calve.backfill.stages.work import Work, load_work
from calve.backfill.statuses import Phase
from calve.errors import RefusedError
from calve.lake.branches import fast_forward
from calve.state.orchestration import runs
from calve.steps.incremental.shared import ledger_of
from support.backfill_world import SCHEMA, World

BRANCH = "backfill_1_0"


class Race:
    """A stage that is about to be published; its branch has a row more on one day."""

    def __init__(self, chain: World) -> None:
        self.chain = chain
        chain.calve.engine.stop()
        planned = chain.keep("a", "2024-01-02", "2024-01-04", downstream=["none"], clear=False).id
        chain.backfills.start(planned, "ada")
        ledger = ledger_of(chain.calve.settings)
        work = load_work(chain.calve.calve, ledger, planned, 0, lambda _: None, 1)
        work = work.save(Phase.PREPARING, work.state)
        work = pin(cut_branches(work), list(enumerate(work.stage.plan.chunks)))
        self.write(2, BRANCH)
        for phase in (Phase.RUNNING, Phase.VALIDATING, Phase.WAITING, Phase.PUBLISHING):
            work = work.save(phase, work.state)
        self.work = work

    def write(self, day: int, branch: str = "main") -> None:
        row = pa.table({"day": [date(2024, 1, day)], "id": [77]}, schema=SCHEMA)
        self.chain.catalog.load_table("db.daily").append(row, branch=branch)

    def jobs(self) -> int:
        """How many Spark jobs were asked for."""
        found = [row.workflow_id for row in self.chain.calve.rows(runs)]
        return found.count(self.work.backfill.jobs_workflow)

    def publish_while_somebody_writes(self, day: int, patch: pytest.MonkeyPatch) -> Work | None:
        def late(*given: Any) -> int:
            self.write(day)
            return fast_forward(*given)

        with patch.context() as patched:
            patched.setattr(publishing, "fast_forward", late)
            return publish(self.work)


@pytest.fixture
def race(chain: World) -> Race:
    return Race(chain)


def test_a_write_elsewhere_is_built_upon(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    assert race.publish_while_somebody_writes(5, monkeypatch) is None
    assert race.jobs() == 0
    assert publish(race.work) is None
    assert race.jobs() == 1


def test_a_write_to_the_same_day_has_its_chunk_written_again(
    race: Race, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert race.publish_while_somebody_writes(2, monkeypatch) is None
    moved = publish(race.work)
    assert moved is not None
    assert (moved.stage.phase, moved.state.round) == (Phase.REPLAYING, 2)


def test_files_that_cannot_be_moved_are_written_again(race: Race, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise RefusedError("REBASE_IMPOSSIBLE", "there are equality deletes", "replay all of its chunks")

    monkeypatch.setattr(publishing, "run_job", refuse)
    race.write(5)
    moved = publish(race.work)
    assert moved is not None
    assert moved.stage.phase is Phase.REPLAYING
    assert moved.state.replay is not None
    assert moved.state.replay["chunks"] == [0, 1]
