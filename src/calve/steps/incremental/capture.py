"""IpCapture: what changed in the source tables since this workflow last committed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from calve.errors import RefusedError
from calve.lake import LookbackAsk
from calve.lake.amounts import Amount
from calve.ledger.capture import Capture
from calve.ledger.ledger import Ledger
from calve.ledger.limits import CaptureLimits
from calve.steps.contract import Ending, Finished, Handle, Options, Running, StepContext
from calve.steps.incremental.backfilling import BackfillScope, backfill_of
from calve.steps.incremental.checking import check_capture
from calve.steps.incremental.chunks import rows_shown, take_chunk, told_of_chunk
from calve.steps.incremental.icdc_names import take_name
from calve.steps.incremental.naming import consumer_of, owner_of, run_ref_of
from calve.steps.incremental.options import CaptureMode, IpCaptureOptions, OnEmpty
from calve.steps.incremental.outputs import NAMES, Source, describe
from calve.steps.incremental.runs import abandonment, refuse_foreign_consumer
from calve.steps.incremental.scope import ARTIFACT, ICDC_NAME
from calve.steps.incremental.shared import ledger_of
from calve.steps.options import read_options
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import ParamDefinition


class IpCapture:
    """Captures from metadata alone: no Spark, no data file, no write to the source.

    Asked again, by a retry or in a restarted run, it gives the same capture. A new run captures all that is
    not accounted for, what a failed run had captured included.
    """

    name: ClassVar[str] = "IpCapture"
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]] = {}
    options: ClassVar[type[Options]] = IpCaptureOptions
    outputs: ClassVar[frozenset[str]] = NAMES

    def check(self, step: TypedStep, workflow: Workflow) -> Iterable[str]:
        """What is wrong with the step in its workflow."""
        return check_capture(step, workflow)

    async def start(self, context: StepContext) -> Running | Finished:
        """Take the capture, or find the one that this instance has."""
        return await asyncio.to_thread(_capture, context)

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """Never left running: whoever asks gets the capture."""
        return await self.start(context)

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """Nothing runs outside; an open capture waits for a restart, or for the next run."""


class Icdc(IpCapture):
    """IpCapture by its other name, with `sourceTable` and `targetTable`."""

    name: ClassVar[str] = "ICDC"


def _capture(context: StepContext) -> Finished:
    options = read_options(IpCaptureOptions, context)
    ledger = ledger_of(context.settings)
    scope = backfill_of(context)
    taken = _regular(ledger, context, options) if scope is None else _chunk(ledger, context, options, scope)
    capture, artifacts = taken.capture, {ARTIFACT: taken.told}
    outputs = {"capture_id": capture.id, **describe(taken.shown, options.capture_mode)}
    outputs |= _lookback(capture)
    _tell(context, capture)
    if not outputs["has_changes"] and options.on_empty is OnEmpty.SKIP:
        # What was looked at and skipped need not be looked at again.
        ledger.commit(capture.id)
        context.log("nothing to process: the rest of the run is skipped")
        return Finished(Ending.SKIP_REST, outputs=outputs, artifacts=artifacts)
    _require_ranges(options, outputs, capture)
    if taken.told[ICDC_NAME] is not None and options.wants_table:
        outputs["icdc_table"] = take_name(ledger.lake, taken.told[ICDC_NAME], capture.changes)
    return Finished.done(outputs, artifacts=artifacts)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A capture, what is shown of its sources, and what the step keeps of it."""

    capture: Capture
    shown: Sequence[Source]
    told: Mapping[str, Any]


def _regular(ledger: Ledger, context: StepContext, options: IpCaptureOptions) -> _Taken:
    consumer = options.consumer or consumer_of(context.workflow_id, context.step_id)
    refuse_foreign_consumer(ledger.database, consumer, context.workflow_id)
    capture = _take(ledger, context, options, consumer)
    return _Taken(capture, _sources(capture), {**capture.to_json(), ICDC_NAME: options.icdc_name})


def _chunk(ledger: Ledger, context: StepContext, options: IpCaptureOptions, scope: BackfillScope) -> _Taken:
    capture = take_chunk(ledger, context, options, scope)
    shown, views = rows_shown(capture, _sources(capture), options)
    # The fixed name stays with the regular runs, which go on beside the backfill.
    told = {**capture.to_json(), ICDC_NAME: None}
    return _Taken(capture, shown, told_of_chunk(told, shown, views, options.icdc_name))


def _sources(capture: Capture) -> list[Source]:
    return [Source(alias, changes) for alias, changes in zip(capture.aliases, capture.sources, strict=True)]


def _take(ledger: Ledger, context: StepContext, options: IpCaptureOptions, consumer: str) -> Capture:
    limits = CaptureLimits(options.max_files, options.max_rows, options.max_bytes)
    lookback = None
    if options.compare_lookback is not None:
        lookback = LookbackAsk(options.compare_lookback, options.lookback_column)
    return ledger.take(
        options.asks,
        consumer=consumer,
        options=options.capture_options,
        start_from=options.start_from,
        start_once=True,
        owner=owner_of(context.workflow_id, context.instance_id, context.run_id),
        run_ref=run_ref_of(context.workflow_id, context.instance_id, context.step_id),
        limits=limits,
        is_abandoned=abandonment(ledger.database),
        lookback=lookback,
        ttl=options.ttl,
    )


def _lookback(capture: Capture) -> dict[str, int]:
    """What the lookback window would have read, over all sources; empty if one of them cannot tell."""
    measured = [found.amount for found in capture.record.lookback]
    known = [amount for amount in measured if amount is not None]
    if not known or len(known) < len(measured):
        return {}
    total = sum(known, Amount())
    return {
        "lookback_files": total.files,
        "lookback_rows": total.records,
        "lookback_bytes": total.bytes,
    }


def _require_ranges(options: IpCaptureOptions, outputs: Mapping[str, Any], capture: Capture) -> None:
    """A range that was asked for and cannot be told must not look like one."""
    if options.capture_mode is CaptureMode.ICDC or not outputs["has_changes"]:
        return
    if outputs.get("range_exactness") != "unknown":
        return
    unknown = [
        f"{column} of {changes.table}"
        for changes in capture.sources
        for column, found in changes.ranges.items()
        if changes.has_changes and found.exactness.value == "unknown"
    ]
    raise RefusedError(
        "RANGE_UNKNOWN",
        f"the range of {', '.join(unknown)} is not known: some files have no statistics for it",
        "have the writer keep metrics for the column (write.metadata.metrics.column.<name>=full) and rewrite "
        "the data files, or use capture_mode: ICDC",
    )


def _tell(context: StepContext, capture: Capture) -> None:
    context.log(f"capture {capture.id} of consumer {capture.consumer}")
    for changes in capture.sources:
        skipped = ", ".join(f"{count} {name}" for name, count in changes.skipped_operations.items())
        context.log(
            f"{changes.table}: {changes.files} files, {changes.records} rows, {changes.bytes} bytes, "
            f"snapshots {changes.from_snapshot_id} to {changes.to_snapshot_id}"
            + (f", skipped {skipped}" if skipped else "")
        )
        for warning in changes.warnings:
            context.log(f"{changes.table}: {warning}")
