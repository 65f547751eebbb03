"""REPLAYING: fresh branches from main as it is now, with what of the former ones still holds."""

from __future__ import annotations

from calve.backfill.plan import ChunkPlan
from calve.backfill.stages.jobs import run_job
from calve.backfill.stages.preparing import clear_ranges, cut_branches, pin
from calve.backfill.stages.publishing import cannot_be_moved, give_up_replay
from calve.backfill.stages.work import Work
from calve.backfill.statuses import Phase
from calve.backfill.store import read_chunks
from calve.errors import CalveError


def replay(work: Work) -> Work | None:
    """Make a further round ready; None while a job of that is under way."""
    work = cut_branches(work)
    if work.state.sources is None:
        try:
            if not _carry_over(work):
                return None
        except CalveError as error:
            if not cannot_be_moved(error):
                raise
            work.say(f"all chunks are written again: {error.message}")
            return work.save(Phase.REPLAYING, give_up_replay(work.state))
        work = pin(work, _chunks(work))
    return work.save(Phase.RUNNING, work.state) if clear_ranges(work) else None


def _carry_over(work: Work) -> bool:
    """Put what holds of the former branches on the fresh ones; true once done."""
    wish = work.state.replay or {}
    answers = []
    for table, keep in wish["keep"].items():
        if not keep:
            continue
        job = {
            "action": "rebase",
            "table": table,
            "branch": wish["branch"],
            "base_snapshot": wish["bases"][table],
            "keep": list(keep),
            "target_branch": work.state.branch,
            "marker": work.marker("kept"),
        }
        answers.append(run_job(work, f"kept/{table}", job))
    return all(answer is not None for answer in answers)


def _chunks(work: Work) -> list[tuple[int, ChunkPlan]]:
    wanted = (work.state.replay or {})["chunks"]
    with work.orchestrator.database.read() as connection:
        known = read_chunks(connection, work.backfill.id, work.stage.ordinal)
    return [
        (chunk.ordinal, ChunkPlan(chunk.lower, chunk.upper, records=chunk.records))
        for chunk in known
        if wanted is None or chunk.ordinal in wanted
    ]
