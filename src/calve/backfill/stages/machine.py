"""A stage moved on, phase by phase. Called again and again, after a crash too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from calve.backfill.stages.preparing import prepare
from calve.backfill.stages.publishing import publish
from calve.backfill.stages.replaying import replay
from calve.backfill.stages.running import run_chunks
from calve.backfill.stages.validating import validate, wait_for_approval
from calve.backfill.stages.work import Work
from calve.backfill.statuses import Phase


def _begin(work: Work) -> Work:
    return work.save(Phase.PREPARING, work.state)


_PHASES: Mapping[Phase, Callable[[Work], Work | None]] = {
    Phase.PLANNED: _begin,
    Phase.PREPARING: prepare,
    Phase.RUNNING: run_chunks,
    Phase.VALIDATING: validate,
    Phase.WAITING: wait_for_approval,
    Phase.PUBLISHING: publish,
    Phase.REPLAYING: replay,
}


def advance(work: Work) -> Work:
    """Move a stage as far as it goes now; what it waits for is looked at when it is called again."""
    while work.stage.phase is not Phase.PUBLISHED:
        moved = _PHASES[work.stage.phase](work)
        if moved is None:
            return work
        work = moved
    return work
