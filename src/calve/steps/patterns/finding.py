"""Which change a pattern processes: of the captures that its step runs under, one source of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from calve.errors import NotFoundError, RefusedError, UsageError
from calve.lake.model import Changes
from calve.ledger.records import CaptureRecord
from calve.spark.once.scope import Scope, read_marker
from calve.steps.contract import StepContext
from calve.steps.incremental.backfilling import scope_of
from calve.steps.incremental.scope import captures_of_step
from calve.steps.incremental.shared import ledger_of
from calve.steps.patterns.options import PatternOptions


@dataclass(frozen=True, slots=True)
class Found:
    """A change, under the alias that its table has in the capture."""

    changes: Changes
    alias: str
    #: Tells the markers of the step's own writes.
    is_own: Callable[[str], bool] = lambda marker: False
    #: What the step is called under its captures, in every attempt.
    path: str = ""
    #: The branch that the target is written on, where it has it; None: it is written directly.
    backfill_branch: str | None = None


def change_of_step(context: StepContext, options: PatternOptions) -> Found:
    """The change that a step processes. Raises CAPTURE_MISSING, CAPTURE_UNCLEAR or SOURCE_UNCLEAR."""
    ledger = ledger_of(context.settings)
    with ledger.database.read() as connection:
        found = captures_of_step(connection, context)
        scope = scope_of(connection, context)
    if found is None:
        raise RefusedError(
            "CAPTURE_MISSING",
            f"step '{context.step_id}' processes a change, and no open capture was taken in this run",
            "put a step of type IpCapture before it, and IpCommit after it",
        )
    records = {held.step_id: held.record for held in found.held}
    record = pick_capture(records, options.capture_step, context.step_id)
    source = pick_source(record, options.source)
    return replace(
        source,
        is_own=_own_markers(found.scope),
        path=found.scope.prefix,
        backfill_branch=None if scope is None else scope.branch,
    )


def _own_markers(scope: Scope) -> Callable[[str], bool]:
    prefixes = [(capture, f"{path}/") for capture, path in scope.paths]

    def is_own(marker: str) -> bool:
        return any(
            capture == own and name.startswith(prefix) and "/" not in name.removeprefix(prefix)
            for capture, name in read_marker(marker)
            for own, prefix in prefixes
        )

    return is_own


def pick_capture(records: dict[str, CaptureRecord], stated: str | None, step_id: str) -> CaptureRecord:
    """The capture of the step that is named, or the only one."""
    names = ", ".join(records)
    if stated is not None and stated not in records:
        raise NotFoundError(
            "CAPTURE_MISSING",
            f"capture_step of '{step_id}' is '{stated}', which has no open capture; there is {names}",
            "name a step of type IpCapture that runs before it",
        )
    if stated is None and len(records) > 1:
        raise UsageError(
            "CAPTURE_UNCLEAR", f"'{step_id}' runs under several captures: {names}", "give capture_step"
        )
    return next(iter(records.values())) if stated is None else records[stated]


def pick_source(record: CaptureRecord, stated: str | None) -> Found:
    """The source of a capture that is named, by its alias or its table, or the only one."""
    known = [Found(source.changes, source.alias) for source in record.sources if source.changes is not None]
    return pick_named(known, stated, f"capture {record.id}")


def pick_named(known: Sequence[Found], stated: str | None, whose: str) -> Found:
    """Of several sources, the one that is named, or the only one. Raises SOURCE_UNCLEAR."""
    chosen = [found for found in known if stated in (None, found.alias, found.changes.table)]
    if len(chosen) != 1:
        aliases = ", ".join(found.alias for found in known)
        wrong = f"has no source '{stated}'" if stated is not None else "has several sources"
        raise UsageError("SOURCE_UNCLEAR", f"{whose} {wrong}; it has {aliases}", "give one of them as source")
    return chosen[0]
