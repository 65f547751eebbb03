"""What operators do to values, by kind. Nothing is converted but long to double, and anything to string."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from calve.workflow.sel.errors import SelError, type_error, value_error
from calve.workflow.sel.limits import Meter
from calve.workflow.sel.printing import plain_text, value_text
from calve.workflow.sel.values import Boolean, Double, Kind, Long, Text, Value, check_same, wrap_long

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}
_EQUALITY = ("==", "!=")


def binary(meter: Meter, operator: str, left: Value, right: Value) -> Value:
    """`left operator right`."""
    handle = _BINARY.get(left.kind)
    if handle is None:
        raise _unsupported(left.kind, operator)
    return handle(meter, operator, left, right)


def prefix(meter: Meter, operator: str, operand: Value) -> Value:
    """`operator operand`."""
    if operand.kind is Kind.BOOLEAN and operator == "!":
        return Boolean(meter, not operand.value)
    if operand.kind is Kind.LONG and operator != "!":
        return Long(meter, wrap_long(-operand.value if operator == "-" else operand.value))
    if operand.kind is Kind.DOUBLE and operator != "!":
        return Double(meter, -operand.value if operator == "-" else operand.value)
    raise _unsupported(operand.kind, operator)


def assign(meter: Meter, operator: str, target: Value, value: Value) -> None:
    """`target operator value`: what is in the box of `target` changes."""
    kind = target.kind
    if operator == "=" and kind in _ASSIGNABLE:
        check_same(kind, value.kind)
        target.value = value.value
    elif operator == "+=" and kind is Kind.STRING:
        target.value = _joined(meter, plain_text(target.value), value_text(meter, value))
    elif kind is Kind.LONG and operator != "=":
        check_same(kind, value.kind)
        target.value = long_arithmetic(operator[0], target.value, value.value)
    elif kind is Kind.DOUBLE and operator != "=":
        check_same(kind, value.kind)
        target.value = double_arithmetic(operator[0], target.value, value.value)
    else:
        raise _unsupported(kind, operator)


_ASSIGNABLE = frozenset(Kind) - {
    Kind.NULL,
    Kind.VOID,
    Kind.UUID,
    Kind.PARAMS,
    Kind.UTIL,
    Kind.MATH,
    Kind.MISC,
}


def long_arithmetic(operator: str, left: int, right: int) -> int:
    """64-bit arithmetic that wraps; division is towards zero, and by zero it is an error."""
    if operator in "/%":
        if right == 0:
            raise value_error(f"{left} {operator} 0: a long cannot be divided by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrap_long(quotient if operator == "/" else left - quotient * right)
    if operator == "+":
        return wrap_long(left + right)
    return wrap_long(left - right if operator == "-" else left * right)


def double_arithmetic(operator: str, left: float, right: float) -> float:
    """IEEE arithmetic: nothing is an error, there are infinities and NaN."""
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    if operator == "%":
        return math.nan if right == 0 or math.isinf(left) else math.fmod(left, right)
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _string(meter: Meter, operator: str, left: Value, right: Value) -> Value:
    if operator == "+":
        return Text(meter, _joined(meter, plain_text(left.value), value_text(meter, right), charge=False))
    if operator in _EQUALITY:
        if right.kind is not Kind.NULL:
            check_same(left.kind, right.kind)
        return Boolean(meter, (left.value == right.value) is (operator == "=="))
    if operator in _COMPARE:
        raise type_error(f"strings cannot be compared with {operator}", "Use compareTo: a.compareTo(b) < 0.")
    raise _unsupported(left.kind, operator)


def _joined(meter: Meter, left: str, right: str, *, charge: bool = True) -> str:
    # What makes a Text of it charges for it there; what changes a box in place has to do it here.
    if charge:
        meter.charge_text(len(left) + len(right))
    return left + right


def _long(meter: Meter, operator: str, left: Value, right: Value) -> Value:
    if right.kind is Kind.DOUBLE:
        return _double(meter, operator, Double(meter, float(left.value)), right)
    if right.kind is Kind.STRING:
        return _string(meter, operator, Text(meter, plain_text(left.value)), right)
    if right.kind is Kind.NULL and operator in _EQUALITY:
        return Boolean(meter, operator == "!=")
    check_same(left.kind, right.kind)
    if operator in _COMPARE:
        return Boolean(meter, _COMPARE[operator](left.value, right.value))
    if operator in _ARITHMETIC:
        return Long(meter, long_arithmetic(operator, left.value, right.value))
    raise _unsupported(left.kind, operator)


_ARITHMETIC = frozenset("+-*/%")


def _double(meter: Meter, operator: str, left: Value, right: Value) -> Value:
    if right.kind is Kind.STRING:
        return _string(meter, operator, Text(meter, plain_text(left.value)), right)
    if right.kind is Kind.NULL and operator in _EQUALITY:
        return Boolean(meter, operator == "!=")
    if right.kind not in (Kind.LONG, Kind.DOUBLE):
        raise type_error(f"expected DOUBLE or LONG, found {right.kind.value}")
    other = float(right.value)
    if operator in _COMPARE:
        return Boolean(meter, _COMPARE[operator](left.value, other))
    if operator in _ARITHMETIC:
        return Double(meter, double_arithmetic(operator, left.value, other))
    raise _unsupported(left.kind, operator)


def _boolean(meter: Meter, operator: str, left: Value, right: Value) -> Value:
    if right.kind is Kind.NULL and operator in _EQUALITY:
        return Boolean(meter, operator == "!=")
    check_same(left.kind, right.kind)
    match operator:
        case "&&":
            return Boolean(meter, left.value and right.value)
        case "||":
            return Boolean(meter, left.value or right.value)
        case "==" | "!=":
            return Boolean(meter, (left.value is right.value) is (operator == "=="))
    raise _unsupported(left.kind, operator)


def _null(meter: Meter, operator: str, _left: Value, right: Value) -> Value:
    match operator:
        case "==" | "!=":
            return Boolean(meter, (right.value is None) is (operator == "=="))
        case "<" | ">":
            return Boolean(meter, False)
        case "+":
            return Text(meter, "null" + value_text(meter, right))
    raise _unsupported(Kind.NULL, operator)


_BINARY = {
    Kind.STRING: _string,
    Kind.LONG: _long,
    Kind.DOUBLE: _double,
    Kind.BOOLEAN: _boolean,
    Kind.NULL: _null,
}


def _unsupported(kind: Kind, operator: str) -> SelError:
    return type_error(f"{kind.value} has no operator {operator}")
