"""Methods of longs, doubles and booleans, of their classes, and of `Math`."""

from __future__ import annotations

import math

from calve.workflow.sel import arguments as read
from calve.workflow.sel.errors import type_error
from calve.workflow.sel.literals import LONG_MAX, LONG_MIN
from calve.workflow.sel.methods.table import Methods
from calve.workflow.sel.printing import double_text
from calve.workflow.sel.runtime import Runtime
from calve.workflow.sel.values import Double, Kind, Long, Text, Value, check_same


def _double_of(value: Value) -> float:
    if value.kind is Kind.STRING:
        return read.parse_double(read.text(value))
    check_same(Kind.DOUBLE, value.kind)
    return float(value.value)


def to_long(number: float) -> int:
    """A double cut to a long, as a Java cast does it."""
    if math.isnan(number):
        return 0
    if math.isinf(number):
        return LONG_MAX if number > 0 else LONG_MIN
    return max(LONG_MIN, min(LONG_MAX, int(number)))


def _parse_double(run: Runtime, _value: Value, args: list[Value]) -> Value:
    return Double(run.meter, read.parse_double(read.text(args[0])))


def _double_text(run: Runtime, value: Value, args: list[Value]) -> Value:
    number = args[0] if args else value
    check_same(Kind.DOUBLE, number.kind)
    return Text(run.meter, double_text(number.value))


def _power(run: Runtime, _value: Value, args: list[Value]) -> Value:
    base, exponent = read.number(args[0]), read.number(args[1])
    try:
        return Double(run.meter, math.pow(base, exponent))
    except OverflowError:
        odd = exponent.is_integer() and exponent % 2 == 1
        return Double(run.meter, -math.inf if base < 0 and odd else math.inf)
    except ValueError:
        # A zero to a negative power is infinite, a negative to a fraction is not a number.
        return Double(run.meter, math.inf if base == 0 else math.nan)


LONG: Methods = {
    ("toString", 0): lambda run, value, _: Text(run.meter, str(value.value)),
    ("toString", 1): lambda run, _, args: Text(run.meter, str(read.long(args[0]))),
    ("valueOf", 1): lambda run, _, args: Long(run.meter, read.long_or_text(args[0])),
    ("parseLong", 1): lambda run, _, args: Long(run.meter, read.parse_long(read.text(args[0]))),
    ("intValue", 0): lambda run, value, _: Long(run.meter, value.value),
}
DOUBLE: Methods = {
    ("toString", 0): _double_text,
    ("toString", 1): _double_text,
    ("valueOf", 1): lambda run, _, args: Double(run.meter, _double_of(args[0])),
    ("parseDouble", 1): _parse_double,
    ("intValue", 0): lambda run, value, _: Long(run.meter, to_long(value.value)),
    ("longValue", 0): lambda run, value, _: Long(run.meter, to_long(value.value)),
}
MATH: Methods = {
    ("min", 2): lambda run, _, args: Long(run.meter, min(read.long(args[0]), read.long(args[1]))),
    ("max", 2): lambda run, _, args: Long(run.meter, max(read.long(args[0]), read.long(args[1]))),
    ("pow", 2): _power,
    ("random", 0): lambda run, *_: Double(run.meter, run.host.random()),
}


def new_boolean(value: Value) -> bool:
    """`new Boolean(x)`."""
    if value.kind is Kind.STRING:
        return (value.value or "").lower() == "true"
    check_same(Kind.BOOLEAN, value.kind)
    return bool(value.value)


def new_double(value: Value) -> float:
    """`new Double(x)`."""
    if value.kind not in (Kind.STRING, Kind.DOUBLE):
        raise type_error(f"a Double is made of a double or a string, found {value.kind.value}")
    return _double_of(value)
