"""`calve triggers`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import output
from calve.cli.client import Json, ServerOption, open_client

if TYPE_CHECKING:
    from rich.console import Console


def triggers(
    workflow: Annotated[str, typer.Argument(help="The id of the workflow.", metavar="WORKFLOW")],
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Show what starts a workflow by itself, and why it last did or did not.

    Example: calve triggers ips.playback_daily
    """
    with open_client(server) as client:
        found = client.triggers(workflow)
    output.emit(found, json_output, lambda console: _show(console, found))


def _show(console: Console, found: Json) -> None:
    lines = [
        _line("time", one, f"next at {output.moment(one['next_time'])}") for one in found["time_triggers"]
    ]
    lines += [_line("signal", one, f"used {one['used_signals']}") for one in found["signal_triggers"]]
    lines += [_line("incremental", one, _why(one)) for one in found["incremental_triggers"]]
    console.print("\n".join(lines) or "nothing starts it by itself", markup=False)


def _line(kind: str, one: Json, said: str) -> str:
    refusal = one["last_refusal"]
    refused = "" if refusal is None else f"; refused at {output.moment(refusal['time'])}: {refusal['why']}"
    return f"{kind} {json.dumps(one['definition'])}: {said if one['is_active'] else 'rests'}{refused}"


def _why(one: Json) -> str:
    decision, instance = one["decision"], one["workflow_instance_id"]
    last = (
        "" if instance is None else f"; instance {instance} was started at {output.moment(one['start_time'])}"
    )
    if decision is None:
        return f"not looked at yet{last}"
    return f"{decision['what']} at {output.moment(one['decision_time'])}: {decision['why']}{last}"
