"""IpCommit: what was captured is processed."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from calve.errors import NotFoundError, RefusedError, UsageError
from calve.lake import SourceTable, open_table
from calve.ledger.capture import Settled
from calve.ledger.ledger import Ledger
from calve.ledger.records import CaptureRecord
from calve.ledger.writes import writes_of
from calve.steps.contract import Finished, Handle, Options, Running, SignalToSend, StepContext
from calve.steps.incremental.backfilling import backfill_of
from calve.steps.incremental.checking import check_commit
from calve.steps.incremental.icdc_names import free_name
from calve.steps.incremental.options import IpCommitOptions
from calve.steps.incremental.scope import ICDC_NAME, frames_of, record_of, taken_in
from calve.steps.incremental.shared import ledger_of
from calve.steps.options import read_options
from calve.steps.table_signals import (
    SNAPSHOT_ID,
    VALID_THROUGH,
    table_signal,
    to_epoch_ms,
    valid_through_signal,
)
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import ParamDefinition

_NOTHING_THERE = ("TABLE_NOT_FOUND", "TABLE_NOT_ICEBERG")


class IpCommit:
    """Accounts for all that a capture step of this run has captured: all sources at once, or none."""

    name: ClassVar[str] = "IpCommit"
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]] = {}
    options: ClassVar[type[Options]] = IpCommitOptions
    outputs: ClassVar[frozenset[str]] = frozenset({"capture_id", "committed"})

    def check(self, step: TypedStep, workflow: Workflow) -> Iterable[str]:
        """What is wrong with the step in its workflow."""
        return check_commit(step, workflow)

    async def start(self, context: StepContext) -> Running | Finished:
        """Commit; a second time, after a crash, changes nothing."""
        return await asyncio.to_thread(_commit, context)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Never left running."""
        return await self.start(context)

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """Nothing runs outside."""


def _commit(context: StepContext) -> Finished:
    options = read_options(IpCommitOptions, context)
    ledger = ledger_of(context.settings)
    record, told = _find(ledger, context, options.capture_step)
    targets = _targets(ledger, record, options.tables)
    _refuse_sources(record, targets)
    scope = backfill_of(context)
    is_visible = scope is None or scope.branch is None
    # On a branch nobody sees anything yet; publishing the backfill tells of it.
    signals = [*_table_signals(targets), *_watermarks(options, targets, context)] if is_visible else []
    if told.get(ICDC_NAME) is not None and not options.keep:
        free_name(ledger.lake, told[ICDC_NAME], record.changes[0])
    settled = ledger.commit(record.id, keep=options.keep, run_ref=record.run_ref)
    _tell(context, settled)
    return Finished.done(
        {"capture_id": record.id, "committed": True},
        artifacts={"commit": settled.to_json()},
        signals=tuple(signals),
    )


def _find(
    ledger: Ledger, context: StepContext, capture_step: str | None
) -> tuple[CaptureRecord, Mapping[str, Any]]:
    """What the capture step took in this run, or in one around it, and what it told about it."""
    with ledger.database.read() as connection:
        taken = {
            step_id: (record_of(connection, frame, step_id, told), told)
            for frame in reversed(frames_of(connection, context))
            for step_id, told in taken_in(connection, frame.run.id).items()
            if capture_step in (None, step_id)
        }
    if not taken:
        named = f"the capture step '{capture_step}'" if capture_step else "a capture step"
        raise NotFoundError(
            "CAPTURE_NOT_TAKEN",
            f"'{context.step_id}' commits {named}, and none has taken a capture in this run",
            "put the capture step before it in the dag, and restart the run from the beginning",
        )
    if len(taken) > 1:
        raise UsageError(
            "CAPTURE_AMBIGUOUS",
            f"'{context.step_id}' does not say which capture it commits: there are {', '.join(taken)}",
            "give capture_step",
        )
    return next(iter(taken.values()))


def _targets(ledger: Ledger, record: CaptureRecord, stated: Sequence[str]) -> dict[str, SourceTable]:
    """The tables written under the capture, and those that the step names, by their full names."""
    with ledger.database.read() as connection:
        written = dict.fromkeys(write.target for write in writes_of(connection, record.id))
    opened = [table for name in written if (table := _find_written(ledger, name)) is not None]
    opened += [open_table(ledger.lake, name) for name in stated]
    return {str(table.name): table for table in opened}


def _find_written(ledger: Ledger, name: str) -> SourceTable | None:
    """None for what the run wrote and took away again, as a staging table, and for what is not Iceberg's."""
    try:
        return open_table(ledger.lake, name)
    except UsageError as error:
        if error.code not in _NOTHING_THERE:
            raise
        return None


def _refuse_sources(record: CaptureRecord, targets: Iterable[str]) -> None:
    sources = {source.table_name for source in record.sources}
    for target in targets:
        if target in sources:
            raise RefusedError(
                "TARGET_IS_SOURCE",
                f"{target} is written and captured by this run, so every run would make work for the next",
                "write to another table; nothing was committed",
            )


def _table_signals(targets: Mapping[str, SourceTable]) -> list[SignalToSend]:
    heads = {name: table.metadata.current_snapshot_id("main") for name, table in targets.items()}
    return [
        SignalToSend(table_signal(name), {} if head is None else {SNAPSHOT_ID: head})
        for name, head in heads.items()
    ]


def _watermarks(
    options: IpCommitOptions, targets: Collection[str], context: StepContext
) -> list[SignalToSend]:
    if options.valid_through is None:
        return []
    moment = to_epoch_ms(options.valid_through)
    if not targets:
        raise UsageError(
            "TARGET_UNKNOWN",
            f"'{context.step_id}' publishes valid_through, and it is not known which tables the run wrote",
            "give 'tables'",
        )
    return [SignalToSend(valid_through_signal(target), {VALID_THROUGH: moment}) for target in targets]


def _tell(context: StepContext, settled: Settled) -> None:
    context.log(f"capture {settled.record.id} of consumer {settled.record.consumer} is committed")
    for source in settled.record.sources:
        context.log(f"{source.table_name}: up to snapshot {source.segments[-1].to_snapshot_inclusive}")
    for warning in settled.warnings:
        context.log(warning)
