"""`calve savings`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calve.cli import options, output

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = ["consumer", "captures", "rows read", "lookback", "of it", "bytes read", "lookback", "of it"]

NameArgument = Annotated[
    str | None, typer.Argument(help="A consumer, or a workflow: all its capture steps. Without it: all.")
]


def savings(name: NameArgument = None, json_output: output.JsonOption = False) -> None:
    """Show what captures read, beside what a lookback window would have read (`compare_lookback`)."""
    with options.open_ledger() as ledger:
        known = sorted({found.position.consumer for found in ledger.checkpoints()})
        wanted = [x for x in known if name is None or x == name or x.startswith(f"{name}/")]
        if name is not None and not wanted:
            # Raises, and says what there is.
            ledger.checkpoints(consumer=name)
        shown = [ledger.savings(consumer) for consumer in wanted]
    output.emit({"savings": shown}, json_output, lambda console: _show(console, shown))


def _show(console: Console, shown: list[dict[str, Any]]) -> None:
    measured = [x for x in shown if x["captures"]]
    if not measured:
        console.print("nothing was measured: give the capture step `compare_lookback`, and let it run")
        return
    rows = [[x["consumer"], x["captures"], *_part(x, "records"), *_part(x, "bytes")] for x in measured]
    console.print(output.table(_COLUMNS, rows))


def _part(found: dict[str, Any], kind: str) -> tuple[int, int, str]:
    captured, window = found["captured"][kind], found["lookback"][kind]
    return captured, window, f"{captured / window:.1%}" if window else "-"
