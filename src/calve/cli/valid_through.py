"""`calve valid-through`."""

from __future__ import annotations

from typing import Annotated

import typer

from calve.cli import options, output
from calve.cli.client import ServerOption, open_client


def valid_through(
    table: options.TableArgument,
    timestamp: Annotated[
        str | None,
        typer.Argument(help="A date or timestamp of ISO 8601, in UTC, or milliseconds since 1970."),
    ] = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Show up to which time a table is complete, or say it: steps that wait for that go on.

    Example: calve valid-through db.orders 2024-01-31T06:00:00Z
    """
    with open_client(server) as client:
        if timestamp is None:
            found = client.valid_through(table)
        else:
            found = client.publish_valid_through(table, timestamp)
    text = f"{found['table']} is complete up to {found['valid_through_time']}"
    output.emit(found, json_output, lambda console: console.print(text, markup=False))
