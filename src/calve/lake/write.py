"""Carries a plan out: writes the ICDC tables of a change and says what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calve.lake.history import SnapshotEffect, classify
from calve.lake.icdc import StateBuilder
from calve.lake.icdc_table import IcdcTable, withdrawing
from calve.lake.lineage import lineage_position, row_filter
from calve.lake.manifest import ADDED, Entry
from calve.lake.metadata import Snapshot
from calve.lake.model import Changes, LogStep, Mode, Operation
from calve.lake.names import name_tables
from calve.lake.net import StateDiff
from calve.lake.plan import ChangePlan
from calve.lake.reach import check_reachable, expiry_warnings
from calve.lake.schemas import shown_as
from calve.lake.stats import ChangeStats
from calve.lake.storage import load_manifests
from calve.lake.unopened import show_unopened
from calve.settings import IcdcSettings


@dataclass(slots=True)
class _Result:
    """What a mode's writer found out."""

    lineage: dict[str, int] | None = None
    steps: tuple[LogStep, ...] = ()
    skipped: dict[str, int] | None = None


class ChangeWriter:
    """Writes one change. All names are given by the plan, so a second try writes the same files."""

    def __init__(self, plan: ChangePlan, settings: IcdcSettings) -> None:
        self._plan = plan
        self._source = plan.table
        self._metadata = plan.table.metadata
        self._io = plan.table.io
        self._stats = ChangeStats.start(self._metadata, plan.columns)
        after, before = name_tables(plan.table, plan.request, settings)
        self._after = IcdcTable.start(self._source, after, settings)
        self._before = IcdcTable.start(self._source, before, settings)

    def write(self) -> Changes:
        """Write the tables. Where that is refused, nothing of them stays."""
        modes = {Mode.APPEND: self._write_append, Mode.NET: self._write_net, Mode.LOG: self._write_log}
        with withdrawing(self._after, self._before):
            result = modes[self._plan.request.mode]()
            if not self._after.snapshots:
                self._after.add(self._builder(self._after, self._plan.end, self._plan.end))
            current = check_reachable(self._source, _needed(self._plan))
            before_location = (
                self._before.publish(self._plan.request.mode) if self._before.totals.files else None
            )
            if before_location is None:
                self._before.files.discard()
            after_location = self._after.publish(self._plan.request.mode)
            return self._describe(result, after_location, before_location, expiry_warnings(current))

    def _builder(
        self,
        table: IcdcTable,
        state: Snapshot | None,
        read_as: Snapshot | None,
        snapshot_id: int | None = None,
    ) -> StateBuilder:
        return table.builder(state, read_as, self._stats, snapshot_id)

    # One writer per mode

    def _write_append(self) -> _Result:
        plan = self._plan
        builder = self._builder(self._after, plan.end, plan.end)
        if not self._append_at_once(builder):
            if plan.base is not None:
                base = StateDiff(self._io, self._metadata, None, plan.base)
                base.write(builder, None, self._stats, look_at_all=_removes(plan.effects or ()))
            self._append_each(builder)
        if builder.totals.delete_files:
            self._stats.mark_inexact()
        self._after.add(builder)
        removing = (Operation.OVERWRITE.value, Operation.DELETE.value)
        return _Result(skipped={op: n for op, n in plan.operations.items() if op in removing})

    def _append_at_once(self, builder: StateBuilder) -> bool:
        """Look at the ends of the range only, where all of it calls itself append and nothing objects."""
        if self._plan.effects is not None or not self._plan.appends_only:
            return False
        diffs: list[tuple[StateDiff, set[int] | None]] = []
        for stretch in self._plan.stretches:
            segment = stretch.segment
            start = self._state(segment.from_snapshot_exclusive)
            if start is None and segment.from_snapshot_exclusive is not None:
                return False
            diff = StateDiff(self._io, self._metadata, start, self._state(segment.to_snapshot_inclusive))
            if start is not None and not diff.shows_appends_only():
                return False
            diffs.append((diff, None if start is None else {s.id for s in stretch.snapshots}))
        for diff, added_by in diffs:
            if added_by is None:
                diff.write(builder, None, self._stats)
            else:
                diff.write_appended(builder, self._stats, added_by)
        return True

    def _state(self, snapshot_id: int | None) -> Snapshot | None:
        known = snapshot_id is not None and self._metadata.has_snapshot(snapshot_id)
        return self._metadata.snapshot(snapshot_id) if known and snapshot_id is not None else None

    def _append_each(self, builder: StateBuilder) -> None:
        """Take from each append of the range what it added."""
        effects = self._plan.effects
        if effects is None:
            skip = 1 if self._plan.base is not None else 0
            walked = [snapshot for stretch in self._plan.stretches for snapshot in stretch.snapshots]
            effects = tuple(classify(self._io, walked[skip:]))
        for effect in effects:
            if effect.operation is Operation.APPEND:
                self._append_one(builder, effect, look_at_all=_removes(effects))

    def _append_one(self, builder: StateBuilder, effect: SnapshotEffect, look_at_all: bool) -> None:
        written = [manifest for manifest in effect.written if manifest.is_data]
        if not look_at_all:
            written = show_unopened(written, builder, self._metadata, self._stats)

        def is_added(entry: Entry) -> bool:
            return entry.status == ADDED and entry.snapshot_id == effect.snapshot.id

        for manifest in load_manifests(self._io, written):
            builder.copy(manifest, is_added)

    def _write_net(self) -> _Result:
        plan = self._plan
        (stretch,) = plan.stretches
        start_id = stretch.segment.from_snapshot_exclusive
        start = self._state(start_id)
        if start_id is not None and start is None:
            return self._write_append()
        if (
            plan.base is None
            and plan.effects is not None
            and all(e.operation is Operation.REPLACE for e in plan.effects)
        ):
            return _Result()
        old, new = shown_as(self._metadata, start, plan.end)
        after = self._builder(self._after, plan.end, new)
        if start is not None and self._append_at_once(after):
            # No row was carried over, so there is nothing to narrow.
            self._after.add(after)
            return _Result()
        before = self._builder(self._before, start, old)
        diff = StateDiff(self._io, self._metadata, start, plan.end)
        position = lineage_position(self._metadata, stretch)
        outcome = diff.write(after, before, self._stats, plan.effects or (), look_at_all=position is not None)
        self._after.add(after)
        self._before.add(before)
        if before.totals.files or after.totals.delete_files:
            self._stats.mark_inexact()
        trusted = after.keeps_lineage and before.keeps_lineage and not outcome.rows_revived
        return _Result(lineage=position if trusted else None)

    def _write_log(self) -> _Result:
        steps: list[LogStep] = []
        previous = self._state(self._plan.stretches[0].segment.from_snapshot_exclusive)
        if self._plan.base is not None:
            steps.append(self._log_step(0, None, self._plan.base, Operation.APPEND))
            previous = self._plan.base
        for effect in self._plan.effects or ():
            if effect.operation is not Operation.REPLACE:
                steps.append(self._log_step(len(steps), previous, effect.snapshot, effect.operation, effect))
            previous = effect.snapshot
        return _Result(steps=tuple(steps))

    def _log_step(
        self,
        ordinal: int,
        start: Snapshot | None,
        end: Snapshot,
        operation: Operation,
        effect: SnapshotEffect | None = None,
    ) -> LogStep:
        old, new = shown_as(self._metadata, start, end)
        after = self._builder(self._after, end, new, end.id)
        before = self._builder(self._before, start, old, end.id)
        if start is None and end.parent_id is not None and effect is not None:
            self._append_one(after, effect, look_at_all=True)
        else:
            StateDiff(self._io, self._metadata, start, end).write(after, before, self._stats)
        self._after.add(after)
        self._before.add(before)
        if before.totals.files or after.totals.delete_files:
            self._stats.mark_inexact()
        return LogStep(
            ordinal,
            end.id,
            operation,
            after.totals.files,
            after.totals.records,
            before.totals.files,
            before.totals.records,
        )

    # What comes out

    def _describe(
        self, result: _Result, after_location: str, before_location: str | None, warnings: tuple[str, ...]
    ) -> Changes:
        plan, after, before = self._plan, self._after, self._before
        skipped = result.skipped or {}
        return Changes(
            table=str(self._source.name),
            table_uuid=self._source.uuid,
            branch=plan.request.branch,
            mode=plan.request.mode,
            segments=plan.request.segments,
            has_changes=bool(after.totals.files or before.totals.files),
            icdc_table=after.shown_name,
            icdc_metadata_location=after_location,
            removed_table=before.shown_name if before_location else None,
            removed_metadata_location=before_location,
            row_filter=row_filter(result.lineage),
            files=after.totals.files,
            records=after.totals.records,
            bytes=after.totals.bytes,
            removed_files=before.totals.files,
            removed_records=before.totals.records,
            removed_bytes=before.totals.bytes,
            operations={op: n for op, n in plan.operations.items() if op not in skipped},
            skipped_operations=skipped,
            ranges=self._stats.column_ranges(),
            partitions=self._stats.partition_values(),
            steps=result.steps,
            warnings=(*warnings, *self._stats.warnings()),
            lineage=result.lineage,
            identifier_columns=plan.request.identifier_columns,
        )


def _needed(plan: ChangePlan) -> list[int]:
    """The snapshots that keep the files of the range."""
    ends = [
        end for s in plan.request.segments for end in (s.from_snapshot_exclusive, s.to_snapshot_inclusive)
    ]
    there = [end for end in ends if end is not None and plan.table.metadata.has_snapshot(end)]
    return there + [snapshot.id for stretch in plan.stretches for snapshot in stretch.snapshots]


def _removes(effects: Sequence[SnapshotEffect]) -> bool:
    """Whether files were removed. One may have come back then, so every entry must be looked at."""
    return any(effect.operation in (Operation.OVERWRITE, Operation.DELETE) for effect in effects)


def write_changes(plan: ChangePlan, settings: IcdcSettings) -> Changes:
    """Write the ICDC tables of a plan: the same names and the same content however often it runs."""
    return ChangeWriter(plan, settings).write()
