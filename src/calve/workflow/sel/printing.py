"""How values look as text: what Java prints for them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from calve.workflow.sel.boxing import hash_order
from calve.workflow.sel.errors import limit_error, type_error
from calve.workflow.sel.limits import Meter
from calve.workflow.sel.values import ELEMENT_OF, Kind, Value

_MAX_DEPTH = 64
_PLAIN_FROM = 1e-3
_PLAIN_TO = 1e7


def double_text(number: float) -> str:
    """A double as Java prints it: 1.0, 1.0E10, 1.2E-5, Infinity, NaN."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "-0.0" if math.copysign(1, number) < 0 else "0.0"
    if _PLAIN_FROM <= abs(number) < _PLAIN_TO:
        return format(Decimal(repr(number)), "f") if "." in repr(number) else f"{number:.1f}"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    scale = int(exponent) + len(digits) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{scale}"


def plain_text(plain: Any) -> str:
    """A scalar as Java prints it."""
    if plain is None:
        return "null"
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, float):
        return double_text(plain)
    return str(plain)


def value_text(meter: Meter, value: Value, depth: int = 0) -> str:
    """A value as it looks when it is joined to a string."""
    kind = value.kind
    if kind in _SCALAR:
        return plain_text(value.value)
    if kind in ELEMENT_OF:
        return _join(meter, [value_text(meter, item) for item in value.value], "[]")
    if kind is Kind.MAP:
        return _map_text(meter, value, depth)
    if kind in _PRINTED:
        text = "null" if value.value is None else str(value.value)
        return f"P{text}D" if kind is Kind.DATETIME_DAYS and value.value is not None else text
    raise type_error(f"{kind.value} cannot be joined to a string")


_SCALAR = frozenset({Kind.STRING, Kind.LONG, Kind.DOUBLE, Kind.BOOLEAN, Kind.NULL})
_PRINTED = frozenset({Kind.DATETIME, Kind.DATETIME_ZONE, Kind.DATETIME_PROPERTY, Kind.DATETIME_DAYS})


def _map_text(meter: Meter, value: Value, depth: int) -> str:
    if value.value is None:
        return "null"
    if depth >= _MAX_DEPTH:
        raise limit_error(f"maps are nested more than {_MAX_DEPTH} deep")
    return _join(
        meter,
        [
            f"{plain_text(key)}={value_text(meter, value.value[key], depth + 1)}"
            for key in hash_order(meter, value.value)
        ],
        "{}",
    )


def _join(meter: Meter, parts: list[str], brackets: str) -> str:
    meter.charge_text(sum(map(len, parts)) + 2 * len(parts))
    return brackets[0] + ", ".join(parts) + brackets[1]
