"""The values of SEL: boxes with a kind. A variable holds a box, and an assignment changes what is in it.

That two names can hold one box, and that a literal is one box for the whole evaluation, is how SEL works:
`y = 1; m.put('k', y); y = 2;` leaves 2 in the map.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

from calve.workflow.sel.errors import type_error
from calve.workflow.sel.limits import OBJECT_BYTES, Meter


class Kind(Enum):
    """What a value is; the first nine can be the result of an evaluation."""

    STRING = "STRING"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    STRING_ARRAY = "STRING_ARRAY"
    LONG_ARRAY = "LONG_ARRAY"
    DOUBLE_ARRAY = "DOUBLE_ARRAY"
    BOOLEAN_ARRAY = "BOOLEAN_ARRAY"
    MAP = "MAP"
    NULL = "NULL"
    VOID = "VOID"
    DATETIME = "DATETIME"
    DATETIME_ZONE = "DATETIME_ZONE"
    DATETIME_FORMATTER = "DATETIME_FORMATTER"
    DATETIME_PROPERTY = "DATETIME_PROPERTY"
    DATETIME_DAYS = "DATETIME_DAYS"
    UUID = "UUID"
    PARAMS = "PARAMS"
    UTIL = "UTIL"
    MATH = "MATH"
    MISC = "MISC"


ARRAY_OF = {
    Kind.STRING: Kind.STRING_ARRAY,
    Kind.LONG: Kind.LONG_ARRAY,
    Kind.DOUBLE: Kind.DOUBLE_ARRAY,
    Kind.BOOLEAN: Kind.BOOLEAN_ARRAY,
}
ELEMENT_OF = {array: element for element, array in ARRAY_OF.items()}

_LONG_SIGN = 1 << 63
_LONG_SPAN = 1 << 64
_INT_SIGN = 1 << 31
_INT_SPAN = 1 << 32
INT_MAX = _INT_SIGN - 1


def wrap_long(number: int) -> int:
    """A number cut to 64 bits, as an overflowing operation leaves it."""
    return (number + _LONG_SIGN) % _LONG_SPAN - _LONG_SIGN


def wrap_int(number: int) -> int:
    """A number cut to 32 bits."""
    return (number + _INT_SIGN) % _INT_SPAN - _INT_SIGN


class Value:
    """Anything an expression can hold."""

    __slots__ = ("kind", "value")

    kind: Kind
    #: What is in the box; never shown to an expression as it is.
    value: Any


class Scalar(Value):
    """A value of one of the closed kinds with a fixed kind per class."""

    __slots__ = ()
    KIND: ClassVar[Kind]

    def __init__(self, meter: Meter, value: Any) -> None:
        meter.charge(OBJECT_BYTES)
        self.kind = self.KIND
        self.value = value


class Text(Scalar):
    """A string, or the null that a declared string starts with."""

    __slots__ = ()
    KIND = Kind.STRING

    def __init__(self, meter: Meter, value: str | None) -> None:
        super().__init__(meter, value)
        if value is not None:
            meter.charge_text(len(value))


class Long(Scalar):
    """A 64-bit integer; the caller has wrapped it."""

    __slots__ = ()
    KIND = Kind.LONG


class Double(Scalar):
    """A 64-bit floating point number."""

    __slots__ = ()
    KIND = Kind.DOUBLE


class Boolean(Scalar):
    """True or false."""

    __slots__ = ()
    KIND = Kind.BOOLEAN


class Array(Value):
    """A one-dimensional array: `value` is a list of boxes of one kind."""

    __slots__ = ()

    def __init__(self, meter: Meter, kind: Kind, items: list[Value]) -> None:
        meter.charge(OBJECT_BYTES)
        self.kind = kind
        self.value = items


class MapValue(Scalar):
    """A map from strings to values: `value` is a dict of boxes, or None for a declared, unset map."""

    __slots__ = ()
    KIND = Kind.MAP


class Opaque(Value):
    """A value of a kind that only its methods can look into: dates, zones, formatters, UUIDs, classes."""

    __slots__ = ()

    def __init__(self, meter: Meter, kind: Kind, value: Any) -> None:
        meter.charge(OBJECT_BYTES)
        self.kind = kind
        self.value = value


class _Constant(Value):
    __slots__ = ()

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.value = None


NULL: Value = _Constant(Kind.NULL)
VOID: Value = _Constant(Kind.VOID)

_SCALARS: dict[Kind, tuple[type[Scalar], Any]] = {
    Kind.STRING: (Text, None),
    Kind.LONG: (Long, 0),
    Kind.DOUBLE: (Double, 0.0),
    Kind.BOOLEAN: (Boolean, False),
    Kind.MAP: (MapValue, None),
}
_OPAQUE = (
    Kind.DATETIME,
    Kind.DATETIME_ZONE,
    Kind.DATETIME_FORMATTER,
    Kind.DATETIME_PROPERTY,
    Kind.DATETIME_DAYS,
    Kind.UUID,
)


def empty(meter: Meter, kind: Kind) -> Value:
    """What a declared variable of a kind holds before it is assigned."""
    if kind in _SCALARS:
        make, value = _SCALARS[kind]
        return make(meter, value)
    if kind in ELEMENT_OF:
        return Array(meter, kind, [])
    if kind in _OPAQUE:
        return Opaque(meter, kind, None)
    raise type_error(f"a variable cannot be of type {kind.value}")


def empty_array(meter: Meter, element: Kind, length: int) -> Array:
    """A new array, filled as Java fills it; the caller has checked the length."""
    if element not in ARRAY_OF:
        raise type_error(f"there are no arrays of {element.value}")
    return Array(meter, ARRAY_OF[element], [empty(meter, element) for _ in range(length)])


def check_same(expected: Kind, found: Kind) -> None:
    """SEL converts nothing by itself: a value must be of exactly the expected kind."""
    if expected is not found:
        raise type_error(f"expected {expected.value}, found {found.value}")
