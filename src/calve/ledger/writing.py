"""From what a capture has to tables that show it: the ledger's requests to the lake."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from calve.errors import ConflictError, RefusedError, UsageError
from calve.lake import ChangePlan, ChangeRequest, Lake, drop_changes, plan_changes, write_changes
from calve.lake.live import LiveRequest, write_live
from calve.lake.model import Changes, Segment
from calve.lake.tables import SourceTable
from calve.ledger.options import CaptureOptions
from calve.ledger.records import CaptureRecord
from calve.ledger.store import MovedError, Store
from calve.settings import IcdcSettings


@dataclass(frozen=True, slots=True)
class LivePlan:
    """What a table shows of a range, still to be written."""

    table: SourceTable
    request: LiveRequest


Plan = ChangePlan | LivePlan


class Writer:
    """Writes the ICDC tables of captures, and removes them."""

    def __init__(self, lake: Lake, icdc: IcdcSettings) -> None:
        self._lake = lake
        self._icdc = icdc

    def write(self, plans: Sequence[Plan]) -> list[Changes]:
        """The tables of all plans; or, if one cannot be written, none."""
        written: list[Changes] = []
        try:
            for plan in plans:
                written.append(self._write(plan))  # noqa: PERF401 - known when a later one fails
        except Exception:
            self.drop(written)
            raise
        return written

    def _write(self, plan: Plan) -> Changes:
        if isinstance(plan, LivePlan):
            return write_live(plan.table, plan.request, self._icdc)
        return write_changes(plan, self._icdc)

    def drop(self, written: Sequence[Changes]) -> None:
        """Remove tables that nobody was given."""
        for changes in written:
            drop_changes(self._lake, changes)


def write_tables(store: Store, writer: Writer, record: CaptureRecord, plans: Sequence[Plan]) -> CaptureRecord:
    """Write the tables of a capture and note them. Where another process did so first, its tables stand.

    Raises `MovedError` if the capture ended meanwhile.
    """
    try:
        written = writer.write(plans)
    except Exception as error:
        if store.fail(record.id, error):
            raise
        raise MovedError from error
    try:
        stored = store.finish(record.id, written)
    except ConflictError as ended:
        writer.drop(written)
        raise MovedError from ended
    if _places(stored.changes) != _places(written):
        writer.drop(written)
    return stored


def salt_of(capture_id: str) -> str:
    """What makes the names of this try its own: the process that began the capture may still be
    writing, and neither may remove what the other wrote."""
    return f"{capture_id}/{secrets.token_hex(4)}"


def _places(written: Sequence[Changes]) -> list[str | None]:
    return [changes.icdc_metadata_location for changes in written]


def plan_tables(
    tables: Sequence[SourceTable],
    segments: Sequence[tuple[Segment, ...]],
    options: Sequence[CaptureOptions],
    consumer: str,
    salt: str,
) -> list[ChangePlan]:
    """A plan for each table of a capture. Raises where the consumer's position cannot be followed."""
    return [
        _plan_table(table, change_request(own, taken, f"{consumer}/{salt}"), consumer)
        for table, taken, own in zip(tables, segments, options, strict=True)
    ]


def change_request(
    options: CaptureOptions, segments: tuple[Segment, ...], salt: str, *, follow: bool = True
) -> ChangeRequest:
    """What the lake is asked for. With `follow` a range that leads back is a rollback, which the
    mode may or may not be able to show; without it, it is a mistake."""
    return ChangeRequest(
        mode=options.mode,
        segments=segments,
        branch=options.branch,
        operations=options.operations,
        on_other=options.on_other,
        range_columns=options.range_columns,
        identifier_columns=options.identifier_columns,
        salt=salt,
        backward_allowed=follow,
    )


def _plan_table(table: SourceTable, request: ChangeRequest, consumer: str) -> ChangePlan:
    try:
        return plan_changes(table, request)
    except UsageError as error:
        if error.code != "SNAPSHOT_NOT_FOUND":
            raise _named(error, table) from error
        # Nobody named that snapshot: the consumer's own position needs it.
        raise RefusedError(
            "HISTORY_EXPIRED",
            f"consumer {consumer} has to go over an expired snapshot of {table.name}: {error.message}",
            f"start over with `calve checkpoint reset {table.name} --consumer {consumer}`, "
            "or go on from a snapshot with `calve checkpoint set`",
        ) from error


def _named(error: UsageError, table: SourceTable) -> UsageError:
    """The error, with the table it is about: there may be several in a capture."""
    name = str(table.name)
    message = error.message if name in error.message else f"{name}: {error.message}"
    return type(error)(error.code, message, error.remedy)
