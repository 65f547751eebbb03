"""`calve runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import output
from calve.cli.client import Json, ServerOption, open_client
from calve.cli.completion import workflow_ids
from calve.cli.paging import gather
from calve.cli.step_tree import duration

if TYPE_CHECKING:
    from rich.console import Console

_PAGE = 1_000


def runs(
    workflow: Annotated[
        str | None,
        typer.Argument(help="Only of this workflow.", autocompletion=workflow_ids, metavar="[WORKFLOW]"),
    ] = None,
    instance: Annotated[
        int | None,
        typer.Argument(help="This instance with its steps.", metavar="[INSTANCE]", min=1, max=2**63 - 1),
    ] = None,
    status: Annotated[str | None, typer.Option(help="Only in this status, such as FAILED.")] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 20,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """List the newest runs, or show one instance with its steps.

    Example: calve runs demo.pipeline --status failed · calve runs demo.pipeline 7
    """
    with open_client(server) as client:
        if workflow is not None and instance is not None:
            summary = client.run_summary(workflow, instance)
            output.emit(summary, json_output, lambda console: _show_one(console, summary))
            return
        # What is rare is found on one of many pages.
        found = gather(
            lambda count, cursor: client.list_runs(workflow, status, count, cursor), "runs", limit, _PAGE
        )
    output.emit(found, json_output, lambda console: _show(console, found["runs"]))


def _show_one(console: Console, summary: Json) -> None:
    from calve.cli.step_tree import run_tree

    console.print(run_tree(summary))


def _show(console: Console, found: list[Json]) -> None:
    from rich.text import Text

    from calve.cli.step_tree import style_of

    if not found:
        console.print("no runs")
        return
    made = output.table(["workflow", "instance", "run", "status", "by", "created", "took"], [])
    for one in found:
        made.add_row(
            one["workflow_id"],
            str(one["instance_id"]),
            str(one["run_id"]),
            Text(one["status"], style_of(one["status"])),
            (one["initiator"] or "").lower(),
            output.moment(one["created_at"]),
            duration(one["started_at"], one["ended_at"]),
        )
    console.print(made)
