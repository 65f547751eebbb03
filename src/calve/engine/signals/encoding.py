"""Values of signal params as texts whose order is that of the values.

A number never equals, precedes or follows a text. The texts are made of digits alone, because databases
sort any other sign by the rules of their language.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calve.workflow.definition.signals import Operator

SignalValue = str | int

LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1
_LONG = "1"
_STRING = "2"
#: Sorts after all that begins with the key.
_NEXT = {_LONG: "2", _STRING: "3"}
_LONG_DIGITS = 20
_BYTE_DIGITS = 3
_COMPARE: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.EQUAL: python.eq,
    Operator.GREATER: python.gt,
    Operator.GREATER_OR_EQUAL: python.ge,
    Operator.LESS: python.lt,
    Operator.LESS_OR_EQUAL: python.le,
}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of encoded values, all of one type."""

    low: str
    high: str
    low_inclusive: bool
    high_inclusive: bool


def encode(value: SignalValue) -> str:
    """A number of 64 bits, or a text, by the order of its code points."""
    if isinstance(value, int):
        return f"{_LONG}{value - LONG_MIN:0{_LONG_DIGITS}d}"
    return _STRING + "".join(f"{byte:0{_BYTE_DIGITS}d}" for byte in value.encode("utf-8"))


def span(operator: Operator, value: SignalValue) -> Span:
    """What the encoded value of a param lies in if it compares so with `value`."""
    kind = _LONG if isinstance(value, int) else _STRING
    bound = encode(value)
    match operator:
        case Operator.EQUAL:
            return Span(bound, bound, low_inclusive=True, high_inclusive=True)
        case Operator.GREATER | Operator.GREATER_OR_EQUAL:
            inclusive = operator is Operator.GREATER_OR_EQUAL
            return Span(bound, _NEXT[kind], low_inclusive=inclusive, high_inclusive=False)
        case Operator.LESS | Operator.LESS_OR_EQUAL:
            inclusive = operator is Operator.LESS_OR_EQUAL
            return Span(kind, bound, low_inclusive=True, high_inclusive=inclusive)


def holds(found: SignalValue, operator: Operator, value: SignalValue) -> bool:
    """True if the value that a signal has compares so with `value`."""
    if isinstance(found, str) and isinstance(value, str):
        return _COMPARE[operator](found, value)
    if isinstance(found, int) and isinstance(value, int):
        return _COMPARE[operator](found, value)
    return False
