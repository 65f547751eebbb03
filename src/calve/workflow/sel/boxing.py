"""The border of the sandbox: plain values become boxes on the way in, boxes plain values on the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from calve.workflow.sel.errors import limit_error, type_error, value_error
from calve.workflow.sel.limits import Meter
from calve.workflow.sel.literals import LONG_MAX, LONG_MIN
from calve.workflow.sel.values import (
    ARRAY_OF,
    ELEMENT_OF,
    NULL,
    Array,
    Boolean,
    Double,
    Kind,
    Long,
    MapValue,
    Text,
    Value,
)

#: Maps inside maps; a map that holds itself would never end.
_MAX_DEPTH = 64


def box(meter: Meter, plain: object, depth: int = 0) -> Value:
    """A plain value as a box; any other object is refused."""
    match plain:
        case None:
            return NULL
        case bool():
            return Boolean(meter, bool(plain))
        case int():
            return Long(meter, _long(int(plain)))
        case float() | Decimal():
            return Double(meter, float(plain))
        case str():
            return Text(meter, str(plain))
        case Mapping():
            _check_depth(depth)
            return MapValue(
                meter, {_key(meter, key): box(meter, item, depth + 1) for key, item in plain.items()}
            )
        case Sequence() if not isinstance(plain, bytes | bytearray | memoryview):
            return _box_array(meter, plain)
    raise type_error(f"a value of the Python type {type(plain).__name__} cannot enter an expression")


def _long(number: int) -> int:
    if LONG_MIN <= number <= LONG_MAX:
        return number
    raise value_error("a number is too large for a long")


def _key(meter: Meter, key: object) -> str:
    if not isinstance(key, str):
        raise type_error("the keys of a map are strings")
    meter.charge_text(len(key))
    return str(key)


def _box_array(meter: Meter, items: Sequence[object]) -> Array:
    meter.charge_objects(0)
    boxes = [Text(meter, None) if item is None else box(meter, item) for item in items]
    kinds = {item.kind for item in boxes}
    if kinds == {Kind.LONG, Kind.DOUBLE}:
        boxes = [Double(meter, float(item.value)) for item in boxes]
        kinds = {Kind.DOUBLE}
    kind = kinds.pop() if kinds else Kind.STRING
    if kinds or kind not in ARRAY_OF:
        raise type_error("an array holds strings, longs, doubles or booleans, all of one type")
    return Array(meter, ARRAY_OF[kind], boxes)


def unbox(meter: Meter, value: Value, depth: int = 0) -> Any:
    """A box as a plain value. Dates and other values without a plain form are refused."""
    if value.kind in ELEMENT_OF:
        meter.charge_objects(len(value.value))
        meter.visit(len(value.value))
        return [item.value for item in value.value]
    if value.kind is Kind.MAP:
        if value.value is None:
            return None
        _check_depth(depth)
        meter.charge_objects(len(value.value))
        meter.visit(len(value.value))
        return {
            key: unbox_member(meter, key, value.value[key], depth) for key in hash_order(meter, value.value)
        }
    if value.kind in ARRAY_OF:
        return value.value
    raise type_error(
        f"{value.kind.value} is not a value that a param can have", "Turn it into a string or a number."
    )


def unbox_member(meter: Meter, key: str | None, value: Value, depth: int) -> Any:
    """A value inside a map; a null, as key or as value, has no plain form."""
    if key is None or value.kind is Kind.NULL:
        raise type_error("a map with a null in it is not a value that a param can have")
    return unbox(meter, value, depth + 1)


def _check_depth(depth: int) -> None:
    if depth >= _MAX_DEPTH:
        raise limit_error(f"maps are nested more than {_MAX_DEPTH} deep")


def hash_order(meter: Meter, entries: Mapping[str | None, object]) -> list[str | None]:
    """The keys in the order in which a Java HashMap gives them, so that printed maps look the same."""
    meter.visit(sum(len(key or "") for key in entries))
    capacity = 16
    while len(entries) * 4 > capacity * 3:
        capacity *= 2
    return sorted(entries, key=lambda key: _spread_hash(key) & (capacity - 1))


def _spread_hash(key: str | None) -> int:
    hashed = 0
    for unit in memoryview((key or "").encode("utf-16-le", "surrogatepass")).cast("H"):
        hashed = (hashed * 31 + unit) & 0xFFFFFFFF
    return hashed ^ (hashed >> 16)
