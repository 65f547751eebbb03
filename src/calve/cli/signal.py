"""`calve signal`."""

from __future__ import annotations

from typing import Annotated

import typer

from calve.cli import output
from calve.cli.assignments import read_signal_params
from calve.cli.client import ServerOption, open_client
from calve.cli.json_objects import read_object


def signal(
    name: Annotated[str, typer.Argument(help="The name of the signal.", metavar="NAME")],
    params: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]…", help="Params: texts and whole numbers.")
    ] = None,
    payload: Annotated[str | None, typer.Option(help="More to carry, as a JSON object.")] = None,
    request_id: Annotated[str | None, typer.Option(help="Two signals with the same id are one.")] = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Send a signal. One that was sent before, with the same params, is not sent again.

    Example: calve signal db/schema/table date=20240101
    """
    given = read_signal_params(params or [])
    carried = read_object(payload, "the payload is", "PAYLOAD_INVALID", "write a JSON object")
    with open_client(server) as client:
        sent = client.send_signal(name, given, carried, request_id)
    said = "was sent before" if sent["duplicate"] else "sent"
    output.emit(
        sent,
        json_output,
        lambda console: console.print(f"{name} {said}, number {sent['seq_id']}", markup=False),
    )
