"""What to capture, checked against the table's history before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calve.errors import NotFoundError, RefusedError, UsageError
from calve.lake.column_ranges import range_column
from calve.lake.history import (
    SnapshotEffect,
    Stretch,
    classify,
    count_operations,
    only_appends_by_name,
    trace,
)
from calve.lake.metadata import Snapshot, find_column
from calve.lake.model import Mode, OnOther, Operation, RangeColumn, Segment
from calve.lake.tables import SourceTable


@dataclass(frozen=True, slots=True)
class ChangeRequest:
    """What is wanted. `salt` goes into the names of the tables, so that consumers do not share them."""

    mode: Mode
    segments: tuple[Segment, ...]
    branch: str = "main"
    operations: frozenset[Operation] | None = None
    on_other: OnOther = OnOther.SKIP
    range_columns: tuple[str, ...] = ()
    identifier_columns: tuple[str, ...] = ()
    salt: str = ""
    backward_allowed: bool = False


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """A request that can be carried out, and what is known of it.

    `effects` is None where the history shows, without looking at each snapshot, that there are
    only appends, or where snapshots in between are gone and only the two ends count.
    """

    table: SourceTable
    request: ChangeRequest
    stretches: tuple[Stretch, ...]
    effects: tuple[SnapshotEffect, ...] | None
    columns: tuple[RangeColumn, ...]
    end: Snapshot | None
    appends_only: bool = False
    base: Snapshot | None = None  # the oldest state there is, in a change from the beginning

    @property
    def operations(self) -> dict[str, int]:
        """How many snapshots of the range did what, as far as they are known."""
        if self.effects is None and not self.appends_only:
            return {}
        walked = [snapshot for stretch in self.stretches for snapshot in stretch.snapshots]
        if self.effects is None:
            return {Operation.APPEND.value: len(walked)} if walked else {}
        counts = count_operations(self.effects)
        if self.base is not None:
            counts[Operation.APPEND.value] = counts.get(Operation.APPEND.value, 0) + 1
        return counts


def plan_changes(table: SourceTable, request: ChangeRequest) -> ChangePlan:
    """Check a request against the table. Writes nothing; raises where rows could be wrong."""
    metadata = table.metadata
    last = request.segments[-1].to_snapshot_inclusive
    end = None if last is None else metadata.snapshot(last)
    schema = metadata.schema_of(end)
    columns = tuple(range_column(schema, name) for name in dict.fromkeys(request.range_columns))
    for name in request.identifier_columns:
        if find_column(schema, name) is None:
            raise NotFoundError(
                "COLUMN_NOT_FOUND", f"there is no identifier column {name!r}", "check the name"
            )
    stretches = tuple(trace(metadata, segment) for segment in request.segments)
    for stretch in stretches:
        _refuse_reversed(table, request, stretch)
    planners = {Mode.APPEND: _plan_append, Mode.NET: _plan_net, Mode.LOG: _plan_log}
    plan = planners[request.mode](ChangePlan(table, request, stretches, None, columns, end))
    _refuse_unlisted(plan)
    return plan


def _walk(plan: ChangePlan, stretch: Stretch) -> tuple[Snapshot | None, tuple[Snapshot, ...]]:
    """The state a stretch begins with and the snapshots after it; raises where some are missing.

    From the beginning of the table that is the oldest state there is: what came before it may have
    expired, and its rows came to the table all the same.
    """
    if stretch.segment.from_snapshot_exclusive is None and stretch.snapshots:
        return stretch.snapshots[0], stretch.snapshots[1:]
    if not stretch.complete:
        raise _broken(plan.table, stretch, plan.request.mode)
    return None, stretch.snapshots


def _plan_append(plan: ChangePlan) -> ChangePlan:
    base = None
    snapshots: list[Snapshot] = []
    for stretch in plan.stretches:
        begin, walked = _walk(plan, stretch)
        base = base or begin
        snapshots += walked
    return _with_effects(plan, snapshots, base)


def _with_effects(plan: ChangePlan, snapshots: Sequence[Snapshot], base: Snapshot | None) -> ChangePlan:
    if only_appends_by_name(snapshots):
        return replace(plan, base=base, appends_only=True)
    effects = tuple(classify(plan.table.io, snapshots))
    only_appends = all(effect.operation is Operation.APPEND for effect in effects)
    return replace(plan, effects=effects, base=base, appends_only=only_appends)


def _plan_net(plan: ChangePlan) -> ChangePlan:
    (stretch,) = plan.stretches
    start = stretch.segment.from_snapshot_exclusive
    start_is_there = start is None or plan.table.metadata.has_snapshot(start)
    if start_is_there and start is not None and not stretch.complete:
        return plan
    base, snapshots = _walk(plan, stretch)
    planned = _with_effects(plan, snapshots, base)
    if not start_is_there and not planned.appends_only:
        raise _broken(plan.table, stretch, plan.request.mode)
    return planned


def _plan_log(plan: ChangePlan) -> ChangePlan:
    (stretch,) = plan.stretches
    start = stretch.segment.from_snapshot_exclusive
    base, snapshots = _walk(plan, stretch)
    effects = tuple(classify(plan.table.io, snapshots))
    first_is_append = not effects or effects[0].operation is Operation.APPEND
    if start is not None and not plan.table.metadata.has_snapshot(start) and not first_is_append:
        raise _broken(plan.table, stretch, plan.request.mode)
    return replace(plan, effects=effects, base=base)


def _refuse_reversed(table: SourceTable, request: ChangeRequest, stretch: Stretch) -> None:
    start, end = stretch.segment.from_snapshot_exclusive, stretch.segment.to_snapshot_inclusive
    if request.backward_allowed or start is None or end is None or not stretch.rewritten:
        return
    if table.metadata.is_ancestor(end, start):
        raise UsageError(
            "RANGE_REVERSED",
            f"snapshot {end} comes before {start}: the range is the wrong way round",
            "exchange the two bounds",
        )


def _refuse_unlisted(plan: ChangePlan) -> None:
    """Hold back where the range did things that the request does not want to see."""
    request = plan.request
    wanted = request.operations
    if wanted is None:
        wanted = frozenset({Operation.APPEND}) if request.mode is Mode.APPEND else frozenset(Operation)
    others = {op: n for op, n in plan.operations.items() if op not in wanted and op != Operation.REPLACE}
    if not others or (request.mode is Mode.APPEND and request.on_other is OnOther.SKIP):
        return
    found = ", ".join(f"{n} {op}" for op, n in others.items())
    raise RefusedError(
        "OTHER_OPERATIONS",
        f"the range has {found}, and only {', '.join(sorted(wanted))} was asked for",
        "use mode net to see all changes, or append with --on-other skip to leave these out",
    )


def _broken(table: SourceTable, stretch: Stretch, mode: Mode) -> RefusedError:
    start, end = stretch.segment.from_snapshot_exclusive, stretch.segment.to_snapshot_inclusive
    if stretch.truncated:
        return RefusedError(
            "HISTORY_EXPIRED",
            f"snapshots of {table.name} between {start} and {end} have expired, and mode {mode} needs them",
            _choices(table, start, mode),
        )
    if start is not None and not table.metadata.has_snapshot(start):
        return RefusedError(
            "HISTORY_EXPIRED",
            f"snapshot {start} of {table.name}, the state that the change starts from, has expired",
            _choices(table, start, mode),
        )
    return RefusedError(
        "HISTORY_REWRITTEN",
        f"snapshot {end} of {table.name} was not made from {start}: the table was rolled back or replaced",
        _choices(table, start, mode),
    )


def _choices(table: SourceTable, start: int | None, mode: Mode) -> str:
    again = "start over with `calve checkpoint reset`, or go on from a snapshot with `calve checkpoint set`"
    if mode is not Mode.NET and (start is None or table.metadata.has_snapshot(start)):
        return f"use mode net, which compares the two states; or {again}"
    return again
