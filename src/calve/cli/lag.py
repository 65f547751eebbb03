"""`calve lag`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calve.cli import options, output
from calve.cli.client import ServerOption, open_client

if TYPE_CHECKING:
    from rich.console import Console

_KEYS = ("consumer", "table", "branch", "snapshots", "files", "records", "bytes", "seconds")
_COLUMNS = ["consumer", "table", "branch", "snapshots", "files", "rows", "bytes", "seconds", "open", "gaps"]


def lag(
    consumer: options.AnyConsumerOption = None,
    table: options.AnyTableOption = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Show what consumers have not committed yet.

    Example: calve lag --table db.orders
    """
    with open_client(server) as client:
        shown = client.lag(consumer, table)
    output.emit({"lag": shown}, json_output, lambda console: _show(console, shown))


def _show(console: Console, shown: list[dict[str, Any]]) -> None:
    rows = [[*(x[key] for key in _KEYS), len(x["open_captures"]), x["gaps"]] for x in shown]
    console.print(output.table(_COLUMNS, rows))
    for x in shown:
        if x["error"] is not None:
            console.print(f"{x['consumer']}: {x['error']['message']}. {x['error']['remedy']}", markup=False)
