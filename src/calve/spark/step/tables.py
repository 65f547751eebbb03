"""Rows as people and as params read them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

SHOWN_ROWS = 20
_WIDEST = 60


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, has_more: bool = False) -> str:
    """Rows as a table of text."""
    cells = [[_cell(value) for value in row] for row in (columns, *rows)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    rule = "-+-".join("-" * width for width in widths)
    drawn = [lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:])]
    if has_more:
        drawn.append(f"… (the first {len(rows)} rows)")
    return "\n".join(drawn)


def to_plain(value: Any) -> Any:
    """A value of a row as JSON has it: numbers stay numbers, what JSON lacks becomes text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes() | bytearray():
            return bytes(value).hex()
        case datetime.date() | datetime.time():
            return value.isoformat()
        case dict():
            return {str(key): to_plain(item) for key, item in value.items()}
        case _ if hasattr(value, "asDict"):
            return {key: to_plain(item) for key, item in value.asDict().items()}
        case list() | tuple():
            return [to_plain(item) for item in value]
        case _:
            return str(value)


def _cell(value: Any) -> str:
    text = "NULL" if value is None else " ".join(str(value).split())
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
