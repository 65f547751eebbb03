"""Reading the arguments of methods: each reader takes a value of one kind, or says what it found instead."""

from __future__ import annotations

from calve.workflow.sel.errors import type_error, value_error
from calve.workflow.sel.literals import LONG_MAX, LONG_MIN
from calve.workflow.sel.printing import plain_text
from calve.workflow.sel.values import INT_MAX, Kind, Value, check_same, wrap_int


def text(value: Value) -> str:
    """A string that is not null."""
    check_same(Kind.STRING, value.kind)
    if value.value is None:
        raise value_error("the string is null")
    found: str = value.value
    return found


def long(value: Value) -> int:
    """A long."""
    check_same(Kind.LONG, value.kind)
    found: int = value.value
    return found


def integer(value: Value) -> int:
    """A long that fits 32 bits; one below them is cut, one above is refused."""
    found = long(value)
    if found > INT_MAX:
        raise value_error(f"{found} is larger than {INT_MAX}")
    return wrap_int(found)


def cut_integer(value: Value) -> int:
    """A long cut to 32 bits."""
    return wrap_int(long(value))


def number(value: Value) -> float:
    """A long or a double, as a double."""
    if value.kind not in (Kind.LONG, Kind.DOUBLE):
        raise type_error(f"expected a number, found {value.kind.value}")
    return float(value.value)


def long_or_text(value: Value) -> int:
    """A long, or a string that is one."""
    return parse_long(text(value)) if value.kind is Kind.STRING else long(value)


def text_or_long(value: Value) -> str:
    """A string, or a long as one."""
    return plain_text(long(value)) if value.kind is Kind.LONG else text(value)


def parse_long(digits: str) -> int:
    """The long that a string is: an optional sign and decimal digits."""
    body = digits[1:] if digits[:1] in ("-", "+") else digits
    if body.isdecimal() and len(body) <= len(str(LONG_MAX)):
        made = int(digits)
        if LONG_MIN <= made <= LONG_MAX:
            return made
    raise value_error(f"'{digits[:40]}' is not a long")


def parse_double(digits: str) -> float:
    """The double that a string is."""
    body = digits.strip().rstrip("fFdD") if digits.strip()[-1:] in "fFdD" else digits.strip()
    if body.lstrip("+-") in ("Infinity", "NaN"):
        return float(body.replace("Infinity", "inf"))
    if not body or not body.isascii() or not set(body) <= set("0123456789+-.eE"):
        raise value_error(f"'{digits[:40]}' is not a double")
    try:
        return float(body)
    except ValueError:
        raise value_error(f"'{digits[:40]}' is not a double") from None
