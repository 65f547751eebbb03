"""Plain values of parameters: which type a literal has, and the lossless way from one type to another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from calve.errors import UsageError
from calve.workflow.params.kinds import ParamType
from calve.workflow.sel.printing import plain_text

LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1
_SHOWN = 80


def infer_type(value: object) -> ParamType:
    """The type of a literal as it stands in a definition: by its kind, a list by its first element."""
    match value:
        case bool():
            return ParamType.BOOLEAN
        case int():
            return ParamType.LONG
        case float() | Decimal():
            return ParamType.DOUBLE
        case str():
            return ParamType.STRING
        case Mapping():
            all_text = bool(value) and all(isinstance(item, str) for item in value.values())
            return ParamType.STRING_MAP if all_text else ParamType.MAP
        case Sequence() if not isinstance(value, bytes | bytearray):
            return _array_type(value)
    raise UsageError(
        "PARAM_TYPE",
        f"{show(value)} is not a value a param can have",
        "Give a string, a number, true or false, a map, or a list of those; there is no null.",
    )


def _array_type(value: Sequence[object]) -> ParamType:
    if not value:
        return ParamType.STRING_ARRAY
    element = infer_type(value[0])
    if element in (ParamType.STRING, ParamType.LONG, ParamType.DOUBLE, ParamType.BOOLEAN):
        return ParamType[f"{element.value}_ARRAY"]
    raise UsageError(
        "PARAM_TYPE",
        f"a list of {show(value[0])} is not a value a param can have",
        "Lists hold strings, numbers or booleans; write a map of lists instead of a list of maps.",
    )


def coerce(name: str, wanted: ParamType, value: object) -> Any:
    """`value` as a plain value of the type `wanted`, where nothing is lost; else PARAM_TYPE.

    Arrays become lists and maps become dicts. MAP accepts any nesting of plain values.
    """
    element = wanted.element
    if element is not None:
        if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
            return [_element(name, element, item) for item in value]
        raise _mismatch(name, wanted, value)
    if wanted is ParamType.STRING_MAP:
        if isinstance(value, Mapping):
            return {str(key): _scalar(name, ParamType.STRING, item) for key, item in value.items()}
        raise _mismatch(name, wanted, value)
    if wanted is ParamType.MAP:
        if isinstance(value, Mapping):
            return {str(key): coerce(f"{name}.{key}", infer_type(item), item) for key, item in value.items()}
        raise _mismatch(name, wanted, value)
    return _scalar(name, wanted, value)


def _element(name: str, wanted: ParamType, value: object) -> Any:
    # An array is never parsed: only strings take anything, and only doubles take longs. A string may be
    # null, where an iteration of a foreach gave none.
    if value is None and wanted is ParamType.STRING:
        return None
    if wanted is not ParamType.STRING and isinstance(value, str):
        raise _mismatch(name, wanted, value)
    return _scalar(name, wanted, value)


def _scalar(name: str, wanted: ParamType, value: object) -> Any:
    made = _SCALARS[wanted](value)
    if made is None:
        raise _mismatch(name, wanted, value)
    return made


def _to_string(value: object) -> str | None:
    match value:
        case str():
            return str(value)
        case bool() | int() | float():
            return plain_text(value)
        case Decimal():
            return str(value)
    return None


def _to_long(value: object) -> int | None:
    match value:
        case bool():
            return None
        case int():
            made = value
        case float() if value.is_integer():
            made = int(value)
        case Decimal() if value == value.to_integral_value():
            made = int(value)
        case str() if _is_decimal_text(value):
            made = int(value)
        case _:
            return None
    return made if LONG_MIN <= made <= LONG_MAX else None


def _is_decimal_text(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return digits.isascii() and digits.isdigit() and len(digits) <= len(str(LONG_MAX))


def _to_double(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, str) and "_" in value:
        return None
    try:
        made = float(value)
    except (ValueError, OverflowError):
        return None
    return made if math.isfinite(made) else None


def _to_boolean(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


_SCALARS = {
    ParamType.STRING: _to_string,
    ParamType.LONG: _to_long,
    ParamType.DOUBLE: _to_double,
    ParamType.BOOLEAN: _to_boolean,
}


def _mismatch(name: str, wanted: ParamType, value: object) -> UsageError:
    return UsageError(
        "PARAM_TYPE",
        f"param '{name}' is declared {wanted.value}, and {show(value)} is not of that type",
        "Correct the value, or declare the type that it has.",
    )


def show(value: object) -> str:
    """A value as an error names it: short, whatever its size."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
