"""`calve capture`, `commit`, `release`, `changes` and `verify`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import options, output
from calve.lake.lookback import Lookback, LookbackAsk
from calve.lake.model import Changes
from calve.ledger.asks import SourceAsk
from calve.ledger.capture import Capture, Settled
from calve.ledger.limits import CaptureLimits

if TYPE_CHECKING:
    from rich.console import Console

_ALIASED = re.compile(r"(\w+)=(.+)")
_StartFrom = Annotated[
    str | None,
    typer.Option(
        help="Where a new consumer starts: earliest, latest, a moment, a snapshot or a ref.",
        show_default="earliest",
    ),
]
_Parallel = Annotated[bool, typer.Option("--parallel", help="A further capture, disjoint from open ones.")]
_MaxFiles = Annotated[int | None, typer.Option(help="Take at most so many files; the rest waits.")]
_MaxRows = Annotated[int | None, typer.Option(help="Take at most so many rows; the rest waits.")]
_MaxBytes = Annotated[int | None, typer.Option(help="Take at most so many bytes; the rest waits.")]
_Lookback = Annotated[
    str | None, typer.Option(help="Also tell what re-reading such a window would cost: 36h, 14d.")
]
_Ttl = Annotated[
    str | None,
    typer.Option(
        help="How long it may stay open before gc reports it: 12h, 7d.", show_default="icdc.ttl, 7d"
    ),
]
_Owner = Annotated[str | None, typer.Option(help="Who to note as the owner.", show_default="user@host:pid")]
_Keep = Annotated[bool, typer.Option("--keep", help="Leave the ICDC tables where they are.")]
_From = Annotated[
    str | None, typer.Option("--from", help="Start after this snapshot or ref.", show_default="the beginning")
]
_To = Annotated[
    str | None, typer.Option("--to", help="End with this snapshot or ref.", show_default="the newest")
]


def capture(
    tables: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE…", help="catalog.namespace.table, or namespace.table; alias=table names it."
        ),
    ],
    consumer: options.ConsumerOption,
    mode: options.ModeOption = None,
    operations: options.OperationsOption = None,
    on_other: options.OnOtherOption = "skip",
    range_column: options.RangeColumnsOption = None,
    identifier_column: options.IdentifierColumnsOption = None,
    branch: options.BranchOption = "main",
    start_from: _StartFrom = None,
    parallel: _Parallel = False,
    owner: _Owner = None,
    max_files: _MaxFiles = None,
    max_rows: _MaxRows = None,
    max_bytes: _MaxBytes = None,
    compare_lookback: _Lookback = None,
    ttl: _Ttl = None,
    json_output: output.JsonOption = False,
) -> None:
    """Capture what changed in one or more tables since the consumer's checkpoint."""
    wanted = options.capture_options(mode, operations, on_other, range_column, identifier_column, branch)
    window = options.duration(compare_lookback, "--compare-lookback")
    with options.open_ledger() as ledger:
        taken = ledger.take(
            [_source(table) for table in tables],
            consumer=consumer,
            options=wanted,
            start_from=start_from,
            parallel=parallel,
            owner=owner,
            limits=CaptureLimits(max_files, max_rows, max_bytes),
            lookback=None if window is None else LookbackAsk(window),
            ttl=options.duration(ttl, "--ttl"),
        )
    output.emit(taken.to_json(), json_output, lambda console: _show_capture(console, taken))


def commit(
    capture_id: options.CaptureIdArgument, keep: _Keep = False, json_output: output.JsonOption = False
) -> None:
    """Commit a capture: its changes are processed. Safe to repeat."""
    with options.open_ledger() as ledger:
        _emit_settled(ledger.commit(capture_id, keep), json_output)


def release(capture_id: options.CaptureIdArgument, json_output: output.JsonOption = False) -> None:
    """Release a capture: its changes belong to the next one. Safe to repeat."""
    with options.open_ledger() as ledger:
        _emit_settled(ledger.release(capture_id), json_output)


def changes(
    table: options.TableArgument,
    from_snapshot: _From = None,
    to_snapshot: _To = None,
    mode: options.ModeOption = None,
    operations: options.OperationsOption = None,
    on_other: options.OnOtherOption = "skip",
    range_column: options.RangeColumnsOption = None,
    identifier_column: options.IdentifierColumnsOption = None,
    branch: options.BranchOption = "main",
    json_output: output.JsonOption = False,
) -> None:
    """Show what changed between two snapshots, for no consumer; nothing is remembered."""
    wanted = options.capture_options(mode, operations, on_other, range_column, identifier_column, branch)
    with options.open_ledger() as ledger:
        found = ledger.changes(table, wanted, from_snapshot=from_snapshot, to_snapshot=to_snapshot)
    output.emit(found.to_json(), json_output, lambda console: _show_changes(console, found))


def verify(capture_id: options.CaptureIdArgument, json_output: output.JsonOption = False) -> None:
    """Check that all files of a capture can still be read."""
    with options.open_ledger() as ledger:
        checked = ledger.verify(capture_id)
    value = {"capture_id": checked.id, "consumer": checked.consumer, "reachable": True}
    output.emit(value, json_output, lambda console: console.print(f"{checked.id}: all files can be read"))


def _emit_settled(settled: Settled, json_output: bool) -> None:
    record = settled.record
    lines = [f"{record.id} of {record.consumer}: {record.status.value}"]
    lines += [f"warning: {warning}" for warning in settled.warnings]
    output.emit(settled.to_json(), json_output, lambda console: console.print(*lines, sep="\n", markup=False))


def _source(text: str) -> SourceAsk:
    named = _ALIASED.fullmatch(text)
    return SourceAsk(text) if named is None else SourceAsk(named[2], alias=named[1])


def _show_capture(console: Console, taken: Capture) -> None:
    console.print(f"capture {taken.id}")
    for at, found in enumerate(taken.sources):
        _show_changes(console, found)
        if taken.record.lookback:
            console.print(_lookback(taken.record.lookback[at]), markup=False)


def _lookback(found: Lookback) -> str:
    if found.amount is None:
        return f"what {found.window} back would read is unknown: {found.unknown}"
    amount = _amount(found.amount.files, found.amount.records, found.amount.bytes)
    return f"{found.window} back of {found.column} would read {amount}"


def _show_changes(console: Console, found: Changes) -> None:
    rows: list[list[object]] = [
        ["table", found.table],
        ["mode", found.mode.value],
        ["after snapshot", found.from_snapshot_id],
        ["up to snapshot", found.to_snapshot_id],
        ["has changes", "yes" if found.has_changes else "no"],
        ["added", _amount(found.files, found.records, found.bytes)],
        ["removed", _amount(found.removed_files, found.removed_records, found.removed_bytes)],
        ["ICDC table", found.icdc_table],
        ["ICDC metadata", found.icdc_metadata_location],
        ["removed table", found.removed_table],
        ["row filter", found.row_filter],
        ["operations", _counts(found.operations)],
        ["skipped", _counts(found.skipped_operations)],
    ]
    rows += [
        [f"range of {name}", f"{bounds.lower} … {bounds.upper} ({bounds.exactness.value})"]
        for name, bounds in found.ranges.items()
    ]
    console.print(output.table(["what", "found"], rows))
    for warning in found.warnings:
        console.print(f"warning: {warning}", markup=False)


def _amount(files: int, records: int, size: int) -> str:
    return f"{records} rows in {files} files, {size} bytes"


def _counts(counted: Mapping[str, int]) -> str | None:
    return ", ".join(f"{n} {operation}" for operation, n in counted.items()) or None
