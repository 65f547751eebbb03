"""`calve backfill plan`, `run`, `status` and the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calve.cli import output
from calve.cli.assignments import split_assignments
from calve.cli.backfill.following import follow
from calve.cli.backfill.view import explain_lines, list_table, status_view
from calve.cli.client import Client, Json, ServerOption, open_client
from calve.cli.completion import WorkflowArgument
from calve.cli.run import engine_for
from calve.errors import FailedError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Process a range of history again, and all that is made from it.",
)

IdArgument = Annotated[int, typer.Argument(help="The number of the backfill.", metavar="ID", min=1)]
PublishOption = Annotated[
    bool, typer.Option("--publish", help="Publish what passes validation, without asking again.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Show its progress until it is over or waits.")]
_FAILED = ("FAILED", "CANCELLED")


@app.command()
def plan(
    workflow: WorkflowArgument,
    lower: Annotated[str, typer.Option("--from", help="The first value of the range.")],
    upper: Annotated[str, typer.Option("--to", help="The first value after the range.")],
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUE", help="A param of the chunks; {from}, {to} are filled in."
        ),
    ] = None,
    chunk: Annotated[str, typer.Option(help="day, hour, whole, or files as in 200files.")] = "day",
    downstream: Annotated[
        list[str] | None, typer.Option(help="all, none, or a workflow; may be given several times.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why, for the report.", show_default=False)] = None,
    column: Annotated[
        str | None,
        typer.Option(help="The column of the range; else that of the time partitions.", show_default=False),
    ] = None,
    order: Annotated[str, typer.Option(help="newest or oldest chunks first.")] = "newest",
    concurrency: Annotated[int, typer.Option(help="How many chunks at a time.")] = 2,
    no_wap: Annotated[bool, typer.Option("--no-wap", help="Write the targets directly.")] = False,
    keep_rows: Annotated[
        bool, typer.Option("--keep-rows", help="Do not empty the range in the targets first.")
    ] = False,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="TABLE=COLUMN,…", help="Columns that tell rows of a target apart."),
    ] = None,
    audit: Annotated[
        list[str] | None,
        typer.Option("--audit", metavar="NAME=SQL", help="A query that must be true; see the docs."),
    ] = None,
    threshold: Annotated[
        list[str] | None, typer.Option("--threshold", metavar="NAME=VALUE", help="What stops a publish.")
    ] = None,
    run_it: Annotated[bool, typer.Option("--run", help="Run the plan at once.")] = False,
    publish_: PublishOption = False,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Plan a backfill: store the plan and print it. Nothing is changed.

    Example: calve backfill plan playback_daily --from 2024-01-01 --to 2024-01-08 --reason "new logic"
    """
    body: Json = {
        "workflow_id": workflow,
        "from": lower,
        "to": upper,
        "params": split_assignments(param or []),
        "chunk": chunk,
        "downstream": downstream or ["all"],
        "reason": reason,
        "column": column,
        "order": order,
        "concurrency": concurrency,
        "on_branch": not no_wap,
        "clear": not keep_rows,
        "auto_publish": publish_,
        "keys": {table: text.split(",") for table, text in split_assignments(key or []).items()},
        "audits": split_assignments(audit or []),
        "thresholds": split_assignments(threshold or []),
    }
    with open_client(server) as client:
        made = client.plan_backfill(body)
        if not run_it:
            output.emit(made, json_output, lambda console: _print(console, explain_lines(made)))
            return
        if not json_output:
            output.emit(made, False, lambda console: _print(console, explain_lines(made)))
        _act(client, made["backfill_id"], "run", {"auto_publish": publish_}, wait, json_output)


@app.command()
def run(
    backfill: IdArgument,
    publish_: PublishOption = False,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Run a plan. With --wait the exit code is 1 if it fails."""
    with open_client(server) as client:
        options = {"auto_publish": True} if publish_ else {}
        _act(client, backfill, "run", options, wait, json_output)


@app.command("list")
def list_(server: ServerOption = None, json_output: output.JsonOption = False) -> None:
    """List backfills, the newest first."""
    with open_client(server) as client:
        found = client.list_backfills()
    output.emit({"backfills": found}, json_output, lambda console: console.print(list_table(found)))


@app.command()
def show(backfill: IdArgument, server: ServerOption = None, json_output: output.JsonOption = False) -> None:
    """Show the plan of a backfill again."""
    with open_client(server) as client:
        found = client.backfill_plan(backfill)
    output.emit(found, json_output, lambda console: _print(console, explain_lines(found)))


@app.command()
def status(
    backfill: IdArgument,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Show how a backfill stands: stages, chunks, what is left."""
    with open_client(server) as client:
        _report(client, client.backfill(backfill), wait, json_output)


@app.command()
def pause(backfill: IdArgument, server: ServerOption = None, json_output: output.JsonOption = False) -> None:
    """Begin no further chunk; those that run go on to their end."""
    _simple(backfill, "pause", {}, server, json_output)


@app.command()
def resume(
    backfill: IdArgument,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Go on after a pause or a failure."""
    _simple(backfill, "resume", {}, server, json_output, wait)


@app.command()
def retry(
    backfill: IdArgument,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Go on after a failure: only chunks that failed run again."""
    _simple(backfill, "retry", {}, server, json_output, wait)


@app.command()
def cancel(backfill: IdArgument, server: ServerOption = None, json_output: output.JsonOption = False) -> None:
    """Stop what runs. What is done is kept and listed; what is not published stays unpublished."""
    _simple(backfill, "cancel", {}, server, json_output)


@app.command()
def discard(
    backfill: IdArgument, server: ServerOption = None, json_output: output.JsonOption = False
) -> None:
    """Drop the branches of a cancelled backfill."""
    _simple(backfill, "discard", {}, server, json_output)


@app.command()
def concurrency(
    backfill: IdArgument,
    number: Annotated[int, typer.Argument(help="How many chunks at a time.", min=1)],
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Change how many chunks run at a time, also while it runs."""
    _simple(backfill, "concurrency", {"concurrency": number}, server, json_output)


@app.command()
def validate(
    backfill: IdArgument,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Compare branches with main once more, for the stages that wait to be published."""
    _simple(backfill, "validate", {}, server, json_output, wait)


@app.command()
def publish(
    backfill: IdArgument,
    all_: Annotated[
        bool, typer.Option("--all", help="Later stages too, as soon as they are validated.")
    ] = False,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Publish the stages that wait for it: their branches become main, and what is downstream goes on."""
    _simple(backfill, "publish", {"later_too": all_}, server, json_output, wait)


@app.command()
def report(
    backfill: IdArgument,
    file: Annotated[
        Path | None, typer.Option("--output", help="Write it to a file.", show_default=False)
    ] = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Print what a backfill did, as Markdown, or with --json as data."""
    with open_client(server) as client:
        text, found = client.backfill_report(backfill), client.backfill(backfill)
    if file is not None:
        file.write_text(text, encoding="utf-8")
        text = f"written to {file}"
    output.emit(found, json_output, lambda console: console.print(text, markup=False))


def _simple(
    backfill: int, action: str, options: Json, server: str | None, json_output: bool, wait: bool = False
) -> None:
    with open_client(server) as client:
        _act(client, backfill, action, options, wait, json_output)


def _act(client: Client, backfill: int, action: str, options: Json, wait: bool, json_output: bool) -> None:
    _report(client, client.act_on_backfill(backfill, action, options), wait, json_output)


def _report(client: Client, found: Json, wait: bool, json_output: bool) -> None:
    if wait:
        with engine_for(client):
            found = follow(client, found["backfill_id"], quiet=json_output)
    if json_output or not wait:
        output.emit(found, json_output, lambda console: console.print(status_view(found)))
    if wait and found["status"] in _FAILED:
        raise typer.Exit(FailedError.exit_code)


def _print(console: Any, lines: list[str]) -> None:
    for line in lines:
        console.print(line, markup=False)
