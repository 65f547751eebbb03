"""Numbers in texts that come in."""

from __future__ import annotations

#: A number with so many digits is past what the state can hold.
_DIGITS = 19


def is_number(text: str) -> bool:
    """True for the digits of a number that the state can hold."""
    return text.isascii() and text.isdigit() and len(text) < _DIGITS
