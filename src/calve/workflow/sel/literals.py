"""Literals of SEL, read as Java reads them."""

from __future__ import annotations

import re

from calve.workflow.sel.errors import syntax_error

LONG_MIN = -(2**63)
LONG_MAX = 2**63 - 1
_ESCAPES = {"b": "\b", "n": "\n", "t": "\t", "f": "\f", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_UNICODE_ESCAPE = re.compile(r"(\\\\)|\\u+([0-9a-fA-F]{4})")


def decode_unicode_escapes(text: str) -> str:
    """The text with `\\u0041` written out, which happens before anything else is read."""
    if "\\u" not in text:
        return text
    return _UNICODE_ESCAPE.sub(lambda found: found[1] or chr(int(found[2], 16)), text)


def read_integer(text: str) -> int:
    """A long. A leading 0 does not make it octal, and a hexadecimal one is refused."""
    digits = text.rstrip("lL")
    if not digits.isdigit():
        raise syntax_error(f"{text} is a hexadecimal number, which SEL does not read", "Write it in decimal.")
    value = int(digits) if len(digits) <= len(str(LONG_MAX)) + 1 else LONG_MAX + 1
    if value > LONG_MAX:
        raise syntax_error(f"{text[:40]} is larger than the largest long, {LONG_MAX}")
    return value


def read_float(text: str) -> float:
    """A double, with or without a suffix."""
    return float(text.rstrip("fFdD"))


def read_string(text: str) -> str:
    """A string without its quotes and with its escapes resolved."""

    def resolve(found: re.Match[str]) -> str:
        character = _ESCAPES.get(found[1])
        if character is None:
            raise syntax_error(
                f"\\{found[1]} is not an escape in a string",
                "Use \\b \\n \\t \\f \\r \\\\ \\\" \\' or \\uXXXX; write \\\\ for a backslash.",
            )
        return character

    return _ESCAPE.sub(resolve, text[1:-1])
