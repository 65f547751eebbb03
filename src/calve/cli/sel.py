"""`calve sel`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calve.cli import output
from calve.cli.json_objects import check_object, read_object
from calve.errors import UsageError
from calve.workflow.sel import Result, SelError, evaluate

if TYPE_CHECKING:
    from rich.console import Console


def sel(
    expression: Annotated[str | None, typer.Argument(metavar="EXPR", help="The expression.")] = None,
    params: Annotated[
        str | None, typer.Option("--params", help='The params it may use, as a JSON object: {"n": 1}.')
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch", help='A file (- is stdin) with a line {"expr", "params"} for each expression.'
        ),
    ] = None,
    json_output: output.JsonOption = False,
) -> None:
    """Try an expression of SEL.

    Examples: calve sel "n + 1" --params '{"n": 41}' · calve sel "Util.dateIntsBetween(20240101, 20240104, 1)"

    With --batch, one line of JSON is printed for each line read: {"type", "value"} or {"error"}.
    """
    if (expression is None) == (batch is None):
        raise UsageError(
            "USAGE",
            "give either an expression or --batch",
            "For example: calve sel \"1 + 1\"; see 'calve sel --help'",
        )
    if batch is not None:
        _run_batch(batch)
        return
    result = _shown(evaluate(expression or "", _read_params(params)))
    output.emit(result, json_output, lambda console: _show(console, result))


def _show(console: Console, result: Mapping[str, Any]) -> None:
    value = result["value"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    console.print(f"{text}  ({result['type']})", markup=False)


def _read_params(text: str | None) -> dict[str, Any]:
    return read_object(text, "the params are", "PARAMS_INVALID", _PARAMS)


def _check_params(found: object) -> dict[str, Any]:
    return check_object(found, "the params are", "PARAMS_INVALID", _PARAMS)


def _run_batch(source: str) -> None:
    for line in _lines(source):
        if line.strip():
            sys.stdout.write(json.dumps(_answer(line), ensure_ascii=False) + "\n")
            sys.stdout.flush()


def _lines(source: str) -> Iterable[str]:
    if source == "-":
        yield from sys.stdin
        return
    try:
        with Path(source).open(encoding="utf-8") as file:
            yield from file
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "BATCH_UNREADABLE", f"{source} cannot be read: {error}", "Give a file of JSON lines."
        ) from None


def _answer(line: str) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"error": UsageError("BATCH_LINE", f"the line is not JSON: {error}", _LINE).to_json()}
    if not isinstance(request, dict) or not isinstance(request.get("expr"), str):
        return {"error": UsageError("BATCH_LINE", 'the line has no "expr"', _LINE).to_json()}
    try:
        return _shown(evaluate(request["expr"], _check_params(request.get("params") or {})))
    except SelError as error:
        return {"error": {**error.to_json(), "line": error.line, "column": error.column}}
    except UsageError as error:
        return {"error": error.to_json()}


_PARAMS = 'Write {"name": value}.'
_LINE = 'Write {"expr": "n + 1", "params": {"n": 1}}.'


def _shown(result: Result) -> dict[str, Any]:
    return {"type": result.type, "value": _plain(result.value)}


def _plain(value: Any) -> Any:
    """A value that JSON can hold: it has no infinities, so they are shown by name."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value
