"""`calve checkpoint show`, `set` and `reset`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from calve.cli import options, output
from calve.errors import UsageError
from calve.ledger.checkpoints import Checkpoint

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Show, set or reset a consumer's checkpoint."
)

_Force = Annotated[bool, typer.Option("--force", help="Release open captures that are in the way.")]
_Snapshot = Annotated[
    str | None, typer.Option("--snapshot", help="A snapshot id, a branch, a tag or a moment.")
]
_COLUMNS = ["consumer", "table", "branch", "snapshot", "open captures", "gaps", "committed ahead"]


@app.command()
def show(
    consumer: options.AnyConsumerOption = None,
    table: options.AnyTableOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Show where each consumer is."""
    with options.open_ledger() as ledger:
        found = ledger.checkpoints(consumer=consumer, table=table)
    _emit(found, json_output)


@app.command("set")
def set_(
    table: options.TableArgument,
    consumer: options.ConsumerOption,
    snapshot: _Snapshot = None,
    latest: Annotated[bool, typer.Option("--latest", help="Everything there is now is processed.")] = False,
    earliest: Annotated[bool, typer.Option("--earliest", help="Nothing is processed.")] = False,
    branch: options.BranchOption = "main",
    force: _Force = False,
    json_output: output.JsonOption = False,
) -> None:
    """Count everything up to a snapshot as processed, and nothing after it."""
    target = _target(snapshot, latest, earliest)
    with options.open_ledger() as ledger:
        placed = ledger.set_checkpoint(table, consumer=consumer, snapshot=target, branch=branch, force=force)
    _emit([placed], json_output)


@app.command()
def reset(
    table: options.TableArgument,
    consumer: options.ConsumerOption,
    branch: options.BranchOption = "main",
    force: _Force = False,
    json_output: output.JsonOption = False,
) -> None:
    """Forget where a consumer is; its next capture is a first one. History is kept."""
    with options.open_ledger() as ledger:
        forgotten = ledger.reset_checkpoint(table, consumer=consumer, branch=branch, force=force)
    value = {"forgotten": [checkpoint.to_json() for checkpoint in forgotten]}
    line = f"forgot the checkpoint of {consumer} on {table}"
    output.emit(value, json_output, lambda console: console.print(line, markup=False))


def _target(snapshot: str | None, latest: bool, earliest: bool) -> str:
    given = [x for x in (snapshot, "latest" if latest else None, "earliest" if earliest else None) if x]
    if len(given) != 1:
        raise UsageError(
            "CHECKPOINT_TARGET_INVALID",
            f"found {len(given)} of --snapshot, --latest and --earliest; expected exactly one",
            "say where the checkpoint should be",
        )
    return given[0]


def _emit(found: Sequence[Checkpoint], json_output: bool) -> None:
    shown = [checkpoint.to_json() for checkpoint in found]
    rows: list[list[object]] = [
        [
            x["consumer"],
            x["table"],
            x["branch"],
            x["snapshot_id"],
            ", ".join(record["capture_id"] for record in x["open_captures"]) or None,
            len(x["gaps"]) or None,
            len(x["committed_ahead"]) or None,
        ]
        for x in shown
    ]
    table = output.table
    output.emit({"checkpoints": shown}, json_output, lambda console: console.print(table(_COLUMNS, rows)))
