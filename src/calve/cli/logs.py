"""`calve logs`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer

from calve.cli import output
from calve.cli.client import LATEST, Client, Json, LogCall, ServerOption, open_client
from calve.cli.completion import InstanceArgument, StepArgument, WorkflowArgument

_LOOK_S = 0.25


def logs(
    workflow: WorkflowArgument,
    instance: InstanceArgument,
    step: StepArgument,
    run: Annotated[str | None, typer.Option(help="The number of a run.", show_default="the newest")] = None,
    attempt: Annotated[str, typer.Option(help="The number of an attempt.")] = LATEST,
    tail: Annotated[
        int | None,
        typer.Option("--tail", "-n", help="Only the last so many lines.", min=0, show_default="all"),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the step is over.")] = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Print the log of a step; of one inside a loop as LOOP:ITERATION:STEP.

    Example: calve logs demo.pipeline 7 per_day:2:load -f
    """
    call = LogCall(workflow, instance, step, run, attempt, tail=tail)
    with open_client(server) as client:
        if json_output:
            output.emit_json(_collect(client, call, follow))
            return
        for piece in _pieces(client, call, follow):
            sys.stdout.write(piece["text"])
            sys.stdout.flush()


def _collect(client: Client, call: LogCall, follow: bool) -> Json:
    """The whole log as one object."""
    pieces = list(_pieces(client, call, follow))
    return {**pieces[-1], "offset": pieces[0]["offset"], "text": "".join(piece["text"] for piece in pieces)}


def _pieces(client: Client, call: LogCall, follow: bool) -> Iterator[Json]:
    while True:
        piece = client.read_log(call)
        yield piece
        if piece["complete"]:
            return
        is_all = piece["next_offset"] >= piece["size"] or not piece["text"]
        if is_all and not follow:
            return
        # The attempt stays the one that was found first, also if another begins.
        call = replace(
            call,
            run_id=str(piece["run_id"]),
            attempt=str(piece["attempt_id"]),
            offset=piece["next_offset"],
            tail=None,
        )
        if is_all:
            time.sleep(_LOOK_S)
