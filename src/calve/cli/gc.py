"""`calve gc`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import options, output
from calve.errors import FailedError
from calve.ledger.collect import Collected

if TYPE_CHECKING:
    from rich.console import Console

_OlderThan = Annotated[
    str | None, typer.Option(help="What counts as stale: 45s, 30m, 12h, 7d, 2w.", show_default="icdc.ttl, 7d")
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")]
_ReleaseOpen = Annotated[bool, typer.Option("--release-open", help="Release open captures that are stale.")]


def gc(
    older_than: _OlderThan = None,
    dry_run: _DryRun = False,
    release_open: _ReleaseOpen = False,
    json_output: output.JsonOption = False,
) -> None:
    """Remove ICDC tables that nobody needs any more. Never touches a source's files."""
    limit = options.duration(older_than, "--older-than")
    with options.open_ledger() as ledger:
        collected = ledger.gc(limit, dry_run=dry_run, release_open=release_open)
    output.emit(collected.to_json(), json_output, lambda console: _show(console, collected))
    if collected.failures and not json_output:
        raise FailedError("GC_INCOMPLETE", collected.failures[0], "run `calve gc` again later")
    if collected.failures:
        raise typer.Exit(FailedError.exit_code)


def _show(console: Console, collected: Collected) -> None:
    would = "would be " if collected.dry_run else ""
    console.print(f"ICDC tables of {len(collected.dropped)} captures {would}dropped")
    console.print(f"{len(collected.orphans)} half-written or uncommitted ICDC tables {would}removed")
    for capture_id in collected.stale_open:
        console.print(f"stale: capture {capture_id} is still open")
