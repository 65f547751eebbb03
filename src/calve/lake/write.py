"""Carries a plan out: writes the ICDC tables of a change and says what is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyiceberg.io import load_file_io

from calve.errors import CalveError, UnreachableError
from calve.lake.history import SnapshotEffect, classify
from calve.lake.icdc import IcdcFiles, StateBuilder, write_table
from calve.lake.lineage import lineage_position, row_filter
from calve.lake.manifest import ADDED, Entry
from calve.lake.metadata import Snapshot
from calve.lake.model import Changes, LogStep, Mode, Operation
from calve.lake.names import IcdcName, name_tables
from calve.lake.net import StateDiff
from calve.lake.plan import ChangePlan
from calve.lake.reach import check_reachable, expiry_warnings
from calve.lake.registry import register, unregister
from calve.lake.schemas import shown_as
from calve.lake.stats import ChangeStats, Totals
from calve.lake.storage import load_manifests
from calve.lake.unopened import show_unopened
from calve.settings import IcdcSettings


@dataclass(slots=True)
class _Table:
    """An ICDC table in the making."""

    name: IcdcName
    files: IcdcFiles
    snapshots: list[dict[str, Any]]
    totals: Totals

    def add(self, builder: StateBuilder, source_uuid: str) -> None:
        """Close a snapshot."""
        self.snapshots.append(builder.finish(source_uuid))
        for part in ("files", "records", "bytes"):
            setattr(self.totals, part, getattr(self.totals, part) + getattr(builder.totals, part))


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
        self._settings = settings
        self._source = plan.table
        self._metadata = plan.table.metadata
        self._io = plan.table.io
        self._stats = ChangeStats.start(self._metadata, plan.columns)
        after, before = name_tables(plan.table, plan.request, settings)
        io = load_file_io(self._source.lake.catalog(self._source.name.catalog).properties, after.location)
        self._after = _Table(after, IcdcFiles(io, after.location), [], Totals())
        self._before = _Table(before, IcdcFiles(io, before.location), [], Totals())

    def write(self) -> Changes:
        """Write the tables. Where that is refused, nothing of them stays."""
        modes = {Mode.APPEND: self._write_append, Mode.NET: self._write_net, Mode.LOG: self._write_log}
        with self._discarding():
            result = modes[self._plan.request.mode]()
            if not self._after.snapshots:
                self._after.add(self._builder(self._after, self._plan.end, self._plan.end), self._source.uuid)
            current = check_reachable(self._plan)
            before_location = self._publish(self._before) if self._before.totals.files else None
            if before_location is None:
                self._before.files.discard()
            after_location = self._publish(self._after)
            return self._describe(result, after_location, before_location, expiry_warnings(current))

    @contextmanager
    def _discarding(self) -> Iterator[None]:
        """Remove what was written if the change turns out to be impossible.

        After any other failure it is left to the next try, or to `calve gc`: another process may be
        writing the same capture, to the same places.
        """
        try:
            yield
        except UnreachableError:
            raise
        except CalveError:
            for table in (self._after, self._before):
                if table.files.written and self._settings.register_tables:
                    unregister(self._source.lake, table.name.table)
                table.files.discard()
            raise

    def _builder(
        self, table: _Table, state: Snapshot | None, read_as: Snapshot | None, snapshot_id: int | None = None
    ) -> StateBuilder:
        chosen = snapshot_id or table.name.snapshot_id
        return StateBuilder(table.files, self._metadata, state, read_as, chosen, self._stats)

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
        self._after.add(builder, self._source.uuid)
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
            self._after.add(after, self._source.uuid)
            lineage = lineage_position(self._metadata, stretch) if after.has_row_ids else None
            return _Result(lineage=lineage)
        before = self._builder(self._before, start, old)
        diff = StateDiff(self._io, self._metadata, start, plan.end)
        outcome = diff.write(after, before, self._stats, plan.effects or ())
        self._after.add(after, self._source.uuid)
        self._before.add(before, self._source.uuid)
        if before.totals.files or after.totals.delete_files:
            self._stats.mark_inexact()
        trusted = after.has_row_ids and before.has_row_ids and not outcome.rows_revived
        return _Result(lineage=lineage_position(self._metadata, stretch) if trusted else None)

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
        self._after.add(after, self._source.uuid)
        self._before.add(before, self._source.uuid)
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

    def _publish(self, table: _Table) -> str:
        request = self._plan.request
        properties = {
            "calve.source-table": str(self._source.name),
            "calve.source-uuid": self._source.uuid,
            "calve.mode": request.mode.value,
        }
        location = write_table(table.files, self._metadata, table.snapshots, properties)
        if self._settings.register_tables:
            register(self._source.lake, table.name.table, location)
        return location

    def _describe(
        self, result: _Result, after_location: str, before_location: str | None, warnings: tuple[str, ...]
    ) -> Changes:
        plan, after, before = self._plan, self._after, self._before
        registered = self._settings.register_tables
        skipped = result.skipped or {}
        return Changes(
            table=str(self._source.name),
            table_uuid=self._source.uuid,
            branch=plan.request.branch,
            mode=plan.request.mode,
            segments=plan.request.segments,
            has_changes=bool(after.totals.files or before.totals.files),
            icdc_table=str(after.name.table) if registered else None,
            icdc_metadata_location=after_location,
            removed_table=str(before.name.table) if registered and before_location else None,
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


def _removes(effects: Sequence[SnapshotEffect]) -> bool:
    """Whether files were removed. One may have come back then, so every entry must be looked at."""
    return any(effect.operation in (Operation.OVERWRITE, Operation.DELETE) for effect in effects)


def write_changes(plan: ChangePlan, settings: IcdcSettings) -> Changes:
    """Write the ICDC tables of a plan: the same names and the same content however often it runs."""
    return ChangeWriter(plan, settings).write()
