"""BackfillStage: the step of a backfill's driver that carries out one stage."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from calve.backfill.stages.machine import advance
from calve.backfill.stages.running import progress, restart_failed
from calve.backfill.stages.work import Work, load_work
from calve.backfill.statuses import BackfillStatus, Phase, refusal
from calve.backfill.store import change_status, read_backfill, read_stages
from calve.engine.catalog.rows import has_workflow
from calve.engine.orchestrator import Orchestrator
from calve.errors import CalveError, UnreachableError
from calve.steps.contract import Ending, Finished, Handle, Options, Running, SignalToSend, StepContext
from calve.steps.incremental.shared import ledger_of
from calve.steps.options import read_options
from calve.steps.schema import required, schema
from calve.steps.table_signals import SNAPSHOT_ID, table_signal
from calve.workflow.params import ParamDefinition, ParamType

_LOOK_S = 0.5
_PAUSED_LOOK_S = 2.0
#: Somebody else moved the stage on in the same moment: look again.
_MOVED = "STAGE_MOVED"


class BackfillStageOptions(Options):
    """Which stage of which backfill."""

    #: The number of the backfill.
    backfill_id: int
    #: The number of the stage, from 0.
    stage: int


class BackfillStage:
    """Moves a stage on until it is published. How far it got is in the state, so it may die at any time."""

    name: ClassVar[str] = "BackfillStage"
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        required("backfill_id", ParamType.LONG), required("stage", ParamType.LONG)
    )
    options: ClassVar[type[Options]] = BackfillStageOptions

    async def start(self, context: StepContext) -> Running | Finished:
        """Begin; in a further run of the driver, let chunks that failed run again."""
        return await asyncio.to_thread(_go, context, begins=True)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Go on."""
        return await asyncio.to_thread(_go, context, begins=False)

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """Stop the chunks and the jobs that run; those that are done stay."""
        await asyncio.to_thread(_stop, context)


def _go(context: StepContext, begins: bool) -> Running | Finished:
    work = _work(context)
    if work.backfill.status is BackfillStatus.PAUSED:
        return Running({}, {**progress(work), "message": "paused"}, _PAUSED_LOOK_S)
    try:
        if work.backfill.status is BackfillStatus.CANCELLED:
            # Who cancelled it may have died before the driver was told.
            stop_chunks(work)
            raise refusal(work.backfill.id, work.backfill.status, "gone on with")
        if begins and context.run_id > 1 and work.stage.phase is Phase.RUNNING:
            context.log(f"{restart_failed(work)} chunks run again")
        work = advance(work)
    except UnreachableError as error:
        return Finished.failed(Ending.PLATFORM_ERROR, error.code, error.message, error.remedy)
    except CalveError as error:
        if error.code == _MOVED:
            return Running({}, None, _LOOK_S)
        _note_failure(work)
        return Finished.failed(Ending.FATAL_ERROR, error.code, error.message, error.remedy)
    if work.stage.phase is not Phase.PUBLISHED:
        return Running({}, progress(work), _LOOK_S)
    _note_done(work)
    return Finished.done(artifacts={"backfill": progress(work)}, signals=_signals(work))


def _work(context: StepContext) -> Work:
    options = read_options(BackfillStageOptions, context)
    ledger = ledger_of(context.settings)
    orchestrator = Orchestrator(context.settings, ledger.database)
    return load_work(
        orchestrator, ledger, options.backfill_id, options.stage, context.log, attempt=context.run_id
    )


def _signals(work: Work) -> tuple[SignalToSend, ...]:
    """Who waits for the tables is woken at once."""
    return tuple(
        SignalToSend(table_signal(table), {SNAPSHOT_ID: target.published_to})
        for table, target in work.state.targets.items()
        if target.published_to is not None and target.published_to != target.published_from
    )


def _note_failure(work: Work) -> None:
    with work.orchestrator.database.write() as connection:
        found = read_backfill(connection, work.backfill.id, lock=True)
        if found.status in (BackfillStatus.RUNNING, BackfillStatus.PAUSED):
            change_status(connection, found.id, BackfillStatus.FAILED, "failed")


def _note_done(work: Work) -> None:
    with work.orchestrator.database.write() as connection:
        found = read_backfill(connection, work.backfill.id, lock=True)
        stages = read_stages(connection, found)
        is_done = all(stage.phase is Phase.PUBLISHED for stage in stages)
        if is_done and not found.status.is_over:
            change_status(connection, found.id, BackfillStatus.DONE, "done")


def _stop(context: StepContext) -> None:
    work = _work(context)
    stop_chunks(work)


def stop_chunks(work: Work) -> None:
    """Stop all that runs for a stage."""
    author = work.backfill.author
    for workflow_id in (work.backfill.chunk_workflow(work.stage.ordinal), work.backfill.jobs_workflow):
        with work.orchestrator.database.read() as connection:
            there = has_workflow(connection, workflow_id)
        if there:
            work.orchestrator.end_workflow(workflow_id, author)
