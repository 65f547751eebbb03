"""`calve prune`."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import options, output
from calve.cli.completion import workflow_ids
from calve.engine.catalog.pruning import Retention
from calve.engine.forgetting import Forgotten, forget
from calve.settings import load_settings
from calve.state.clock import now_ms
from calve.state.database import Database

if TYPE_CHECKING:
    from rich.console import Console

_OlderThan = Annotated[str, typer.Option(help="Instances that ended longer ago than this: 12h, 90d, 26w.")]
_Keep = Annotated[int, typer.Option(help="The newest so many instances of each workflow stay.", min=1)]
_Workflow = Annotated[
    str | None, typer.Option("--workflow", help="Only of this workflow.", autocompletion=workflow_ids)
]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")]


def prune(
    older_than: _OlderThan = "90d",
    keep: _Keep = 20,
    workflow: _Workflow = None,
    dry_run: _DryRun = False,
    json_output: output.JsonOption = False,
) -> None:
    """Remove instances that ended long ago, with their steps, events and logs.

    Definitions, positions of consumers, captures and signals stay. Instances that were called or looped over
    go with the one at the top.

    Example: calve prune --older-than 90d --keep 50 --dry-run
    """
    age = options.duration(older_than, "--older-than") or timedelta()
    retention = Retention(now_ms() - int(age.total_seconds() * 1000), keep, workflow)
    settings = load_settings()
    database = Database(settings.state_url)
    total = Forgotten()
    try:
        for total in forget(database, settings, retention, is_trial=dry_run):
            _tell(total)
    finally:
        database.close()
    output.emit(
        {**total.to_json(), "dry_run": dry_run}, json_output, lambda console: _show(console, total, dry_run)
    )


def _tell(total: Forgotten) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{total.instances:,} instances\r")


def _show(console: Console, total: Forgotten, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    console.print(f"{total.instances:,} instances ({total.runs:,} runs) {would}removed")
