"""The ledger: captures, commits, checkpoints and lag, for programs.

lake = calve.connect()
capture = lake.capture("db.events", consumer="daily")
…
capture.commit()
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import ColumnElement

from calve.errors import CalveError, NotFoundError
from calve.lake import Lake, LookbackAsk, open_table, plan_changes, verify_changes, write_changes
from calve.lake.model import Changes, Segment
from calve.ledger.abandoned import IsAbandoned
from calve.ledger.asks import SourceAsk, resolve_sources
from calve.ledger.capture import Capture, Settled
from calve.ledger.checkpoints import Checkpoint
from calve.ledger.choosing import Ask
from calve.ledger.collect import Collected, collect, drop_tables
from calve.ledger.extents import Extent
from calve.ledger.fixed import FixedAsk, FixedTaker
from calve.ledger.holds import Hold
from calve.ledger.lag import ConsumerLag, lags_of
from calve.ledger.limits import CaptureLimits
from calve.ledger.options import CaptureOptions, check_consumer
from calve.ledger.placing import Place, reset_position, set_position
from calve.ledger.records import CaptureRecord
from calve.ledger.savings import savings_of
from calve.ledger.start import start_of
from calve.ledger.store import Store
from calve.ledger.taking import Taker
from calve.ledger.writes import has_landed, writes_of
from calve.ledger.writing import Writer, change_request
from calve.settings import Settings, load_settings
from calve.state.database import Database
from calve.state.schema import chains


class Ledger:
    """Everything consumers do, on the lake and the state of one home."""

    def __init__(self, settings: Settings, lake: Lake | None = None) -> None:
        self.settings = settings
        self.lake = lake or Lake(settings)
        self._database = Database(settings.state_url)
        self._store = Store(self._database)
        writer = Writer(self.lake, settings.icdc)
        self._taker = Taker(self.lake, self._store, writer)
        self._fixed_taker = FixedTaker(self.lake, self._store, writer)

    @property
    def database(self) -> Database:
        """The state that the ledger is kept in."""
        return self._database

    def capture(
        self,
        *tables: str | SourceAsk,
        consumer: str,
        mode: str | None = None,
        operations: str | Iterable[str] | None = None,
        on_other: str = "skip",
        range_columns: Sequence[str] = (),
        identifier_columns: Sequence[str] = (),
        branch: str = "main",
        start_from: str | int | None = None,
        parallel: bool = False,
        owner: str | None = None,
        run_ref: str | None = None,
        limits: CaptureLimits | None = None,
        lookback: LookbackAsk | None = None,
        ttl: timedelta | None = None,
    ) -> Capture:
        """What changed in the tables since the consumer's checkpoint.

        Asked again while the capture is open, the same one comes back, with the same bounds;
        `parallel` asks for a further, disjoint one. `start_from` says where a consumer without
        a checkpoint starts, after that snapshot: earliest, latest, a moment, a snapshot id or a ref.
        `limits` cut the capture between two snapshots, and the rest is the next one's; `lookback`
        measures what a window of time would read instead; `ttl` is how long the ICDC tables may stay.
        """
        options = CaptureOptions.parse(
            mode=mode,
            operations=operations,
            on_other=on_other,
            range_columns=range_columns,
            identifier_columns=identifier_columns,
            branch=branch,
        )
        return self.take(
            tables,
            consumer=consumer,
            options=options,
            start_from=start_from,
            parallel=parallel,
            owner=owner,
            run_ref=run_ref,
            limits=limits,
            lookback=lookback,
            ttl=ttl,
        )

    def take(
        self,
        sources: Sequence[str | SourceAsk],
        *,
        consumer: str,
        options: CaptureOptions,
        start_from: str | int | None = None,
        start_once: bool = False,
        parallel: bool = False,
        owner: str | None = None,
        run_ref: str | None = None,
        limits: CaptureLimits | None = None,
        is_abandoned: IsAbandoned | None = None,
        lookback: LookbackAsk | None = None,
        ttl: timedelta | None = None,
    ) -> Capture:
        """`capture`, with the options in one piece. With a `run_ref`, that run's open capture is
        what comes back, whatever other runs of the consumer have open.

        `is_abandoned` says of a `run_ref` whether that run has ended. Its open capture is released,
        and the new one covers it; but if writes under it have landed, this run takes it over as it
        is, so that nothing is written twice, and what is newer waits for the next capture.
        With `start_once` a `start_from` counts for positions that are new, and is no mistake elsewhere.
        """
        ask = Ask(
            sources=resolve_sources(sources, options),
            consumer=check_consumer(consumer),
            options=options,
            start_from=None if start_from is None else str(start_from),
            start_once=start_once,
            parallel=parallel,
            owner=owner or default_owner(),
            run_ref=run_ref,
            limits=limits or CaptureLimits(),
            lookback=lookback,
            ttl=ttl,
        )
        return self._hand_out(self._taker.take(ask, is_abandoned))

    def take_fixed(
        self,
        sources: Sequence[str | SourceAsk],
        extents: Mapping[str, Extent],
        *,
        consumer: str,
        options: CaptureOptions,
        owner: str | None = None,
        run_ref: str | None = None,
        is_abandoned: IsAbandoned | None = None,
        ttl: timedelta | None = None,
    ) -> Capture:
        """A capture of what is given for each table, by its full name, and not of what is new.

        Asked again with the same `run_ref` while it is open, it is the same capture with the same tables.
        It moves nobody's position, and gives the consumer none: commit and release only end it.
        `is_abandoned` is as in `take`. Raises CAPTURE_OPEN if another run has one for the consumer.
        """
        resolved = resolve_sources(sources, options)
        ask = FixedAsk(
            sources=resolved,
            extents=tuple(extents[str(self.lake.resolve(source.table))] for source in resolved),
            consumer=check_consumer(consumer),
            options=options,
            owner=owner or default_owner(),
            run_ref=run_ref,
            ttl=ttl,
        )
        return self._hand_out(self._fixed_taker.take(ask, is_abandoned))

    def get(self, capture_id: str) -> Capture:
        """A capture by its id. Raises CAPTURE_NOT_FOUND."""
        return self._hand_out(self._store.capture(capture_id))

    def commit(self, capture_id: str, keep: bool = False, run_ref: str | None = None) -> Settled:
        """The capture's changes are processed. Safe to repeat; with `keep` its ICDC tables stay.

        Raises CAPTURE_NOT_FOUND, CAPTURE_RELEASED, CAPTURE_NOT_READY or CAPTURE_OVERLAP, and, with
        a `run_ref`, CAPTURE_TAKEN_OVER if the capture belongs to another run now.
        """
        return self._settled(self._store.commit(capture_id, keep, run_ref))

    def release(self, capture_id: str, reason: str = "released by its owner") -> Settled:
        """Give the capture's changes back: they are in the next one. Safe to repeat.

        Raises CAPTURE_NOT_FOUND or CAPTURE_COMMITTED.
        """
        return self._settled(self._store.release(capture_id, reason))

    def verify(self, capture_id: str) -> Capture:
        """Check that all files of a capture can still be read. Raises FILES_EXPIRED."""
        capture = self.get(capture_id)
        for changes in capture.sources:
            verify_changes(self.lake, changes)
        return capture

    def landed(self, capture_id: str) -> bool:
        """Whether anything that was written under a capture is in its target, by the ledger's own
        notes and the summaries of the targets' snapshots."""
        with self._database.read() as connection:
            writes = writes_of(connection, capture_id)
        return has_landed(self.lake, capture_id, writes)

    def captures_of_instances(self, pairs: Sequence[tuple[str, int]]) -> list[CaptureRecord]:
        """The captures that instances of workflows took, by age, ended ones too.

        Each pair is the id of a workflow and the id of an instance: the beginning of the `run_ref`.
        """
        return self._store.captures_of([f"{workflow}/{instance}/" for workflow, instance in pairs])

    def savings(self, consumer: str) -> dict[str, Any]:
        """What a consumer did not have to read, over its committed captures with a lookback measure."""
        return savings_of(consumer, self._store.committed_of(check_consumer(consumer)))

    def changes(
        self,
        table: str,
        options: CaptureOptions | None = None,
        *,
        from_snapshot: str | int | None = None,
        to_snapshot: str | int | None = None,
    ) -> Changes:
        """What changed between two snapshots, for no consumer; nothing is remembered.

        `from_snapshot` is exclusive, and without it the range starts with the table; without
        `to_snapshot` it ends with the branch's newest snapshot.
        """
        wanted = options or CaptureOptions()
        source = open_table(self.lake, table)
        metadata = source.metadata
        start = None if from_snapshot is None else metadata.resolve(from_snapshot)
        head = metadata.current_snapshot_id(wanted.branch)
        end = head if to_snapshot is None else metadata.resolve(to_snapshot)
        request = change_request(wanted, (Segment(start, end),), "", follow=False)
        return write_changes(plan_changes(source, request), self.settings.icdc)

    def lag(self, *, consumer: str | None = None, table: str | None = None) -> list[ConsumerLag]:
        """What is not accounted for, for each consumer and table."""
        positions, open_captures = self._store.view(*self._where(consumer, table))
        known = [position for position in positions if position.known]
        self._require_known(known, consumer)
        return lags_of(self.lake, known, open_captures)

    def checkpoints(self, *, consumer: str | None = None, table: str | None = None) -> list[Checkpoint]:
        """Where each consumer is in each table."""
        positions, open_captures = self._store.view(*self._where(consumer, table))
        known = [position for position in positions if position.known]
        self._require_known(known, consumer)
        return [Checkpoint.of(position, open_captures) for position in known]

    def accounted_up_to(self, consumer: str, table: str, branch: str = "main") -> int | None:
        """The snapshot up to which a consumer's chain reaches, open captures and gaps included.

        None without a position, and for one that has nothing of the table yet.
        """
        uuid = open_table(self.lake, table).uuid
        place = (chains.c.consumer == consumer, chains.c.table_uuid == uuid, chains.c.branch == branch)
        return next((position.chain.end for position in self._store.positions(*place)), None)

    def open_captures_of(self, consumer: str, table: str) -> list[CaptureRecord]:
        """The open captures of a consumer in a table."""
        _, found = self._store.view(*self._where(consumer, table))
        return found

    def holds(self, consumer: str) -> list[Hold]:
        """What keeps a consumer from capturing all there is, while backfills publish."""
        return self._store.holds(consumer)

    def set_checkpoint(
        self, table: str, *, consumer: str, snapshot: str | int, branch: str = "main", force: bool = False
    ) -> Checkpoint:
        """Account for everything up to a snapshot (or `earliest`, `latest`), and nothing after it.

        Raises CAPTURES_OPEN unless `force`, which releases them.
        """
        source = open_table(self.lake, table)
        target = start_of(str(snapshot), source.metadata, branch)
        place = Place(check_consumer(consumer), str(source.name), source.uuid, branch)
        moved = set_position(self._store, place, target, force=force, owner=default_owner())
        self._drop_all(moved.released)
        found = self.checkpoints(consumer=consumer, table=table)
        return next(x for x in found if x.position.branch == branch)

    def reset_checkpoint(
        self, table: str, *, consumer: str, branch: str = "main", force: bool = False
    ) -> list[Checkpoint]:
        """Forget where a consumer is, also in a table that is gone; gives what was forgotten.

        Raises CHECKPOINT_NOT_FOUND, and CAPTURES_OPEN unless `force`, which releases them.
        """
        place = Place(check_consumer(consumer), str(self.lake.resolve(table)), self._uuid(table), branch)
        moved = reset_position(self._store, place, force=force, owner=default_owner())
        self._drop_all(moved.released)
        return [Checkpoint.of(position, moved.released) for position in moved.before]

    def gc(
        self, older_than: timedelta | None = None, *, dry_run: bool = False, release_open: bool = False
    ) -> Collected:
        """Remove ICDC tables that nobody needs any more."""
        limit = self.settings.icdc.ttl if older_than is None else older_than
        return collect(
            self.lake, self._store, self.settings.icdc, limit, dry_run=dry_run, release_open=release_open
        )

    def close(self) -> None:
        """Give back the connections to the state."""
        self._database.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _hand_out(self, record: CaptureRecord) -> Capture:
        return Capture(record, self.commit, self.release)

    def _settled(self, record: CaptureRecord) -> Settled:
        if record.keep or record.dropped_at is not None:
            return Settled(record, dropped=not record.keep)
        failure = drop_tables(self.lake, self._store, record)
        return Settled(record, dropped=failure is None, warnings=() if failure is None else (failure,))

    def _drop_all(self, released: Sequence[CaptureRecord]) -> None:
        for record in released:
            self._settled(self._store.capture(record.id))

    def _where(self, consumer: str | None, table: str | None) -> list[ColumnElement[bool]]:
        where: list[ColumnElement[bool]] = []
        if consumer is not None:
            where.append(chains.c.consumer == check_consumer(consumer))
        if table is not None:
            where.append(chains.c.table_uuid == open_table(self.lake, table).uuid)
        return where

    def _uuid(self, table: str) -> str | None:
        try:
            return open_table(self.lake, table).uuid
        except CalveError:
            # Dropped, damaged or out of reach: its position can be forgotten by name all the same.
            return None

    def _require_known(self, found: Sequence[object], consumer: str | None) -> None:
        if consumer is not None and not found:
            raise NotFoundError(
                "CONSUMER_NOT_FOUND",
                f"consumer {consumer} has no checkpoint here",
                "check the name; `calve checkpoint show` lists all, and the first capture makes one",
            )


def connect(home: Path | str | None = None) -> Ledger:
    """The ledger of a home; of the usual one (`CALVE_HOME`, `./.calve`, `~/.calve`) without."""
    return Ledger(load_settings(None if home is None else Path(home)))


def default_owner() -> str:
    """Who is asking: user@host:pid."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}:{os.getpid()}"
