"""From what a capture has to tables that show it: the ledger's requests to the lake."""

from __future__ import annotations

from collections.abc import Sequence

from calve.errors import RefusedError, UsageError
from calve.lake import ChangePlan, ChangeRequest, Lake, drop_changes, plan_changes, write_changes
from calve.lake.model import Changes, Segment
from calve.lake.tables import SourceTable
from calve.ledger.options import CaptureOptions
from calve.settings import IcdcSettings


class Writer:
    """Writes the ICDC tables of captures, and removes them."""

    def __init__(self, lake: Lake, icdc: IcdcSettings) -> None:
        self._lake = lake
        self._icdc = icdc

    def write(self, plans: Sequence[ChangePlan]) -> list[Changes]:
        """The tables of all plans; or, if one cannot be written, none."""
        written: list[Changes] = []
        try:
            for plan in plans:
                written.append(write_changes(plan, self._icdc))  # noqa: PERF401 - known when a later one fails
        except Exception:
            self.drop(written)
            raise
        return written

    def drop(self, written: Sequence[Changes]) -> None:
        """Remove tables that nobody was given."""
        for changes in written:
            drop_changes(self._lake, changes)


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
