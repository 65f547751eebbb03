"""Which characters a part of a pattern accepts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

Accepts = Callable[[str], bool]

LINE_ENDS = frozenset("\n\r\u0085\u2028\u2029")
_DIGITS = frozenset("0123456789")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SPACE = frozenset(" \t\n\x0b\f\r")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def negated(accepts: Accepts) -> Accepts:
    """Every other character."""
    return lambda character: not accepts(character)


def either(parts: list[Accepts]) -> Accepts:
    """A character that one of the parts accepts."""
    return lambda character: any(accepts(character) for accepts in parts)


def both(left: Accepts, right: Accepts) -> Accepts:
    """A character that both accept."""
    return lambda character: left(character) and right(character)


def one(wanted: str, fold: bool) -> Accepts:
    """One character, in any case if `fold`."""
    if fold and wanted.lower() != wanted.upper():
        return frozenset({wanted, wanted.lower(), wanted.upper()}).__contains__
    return wanted.__eq__


def between(first: str, last: str, fold: bool) -> Accepts:
    """A range of characters."""
    if fold:
        return lambda c: first <= c <= last or first <= c.lower() <= last or first <= c.upper() <= last
    return lambda character: first <= character <= last


def is_word(character: str) -> bool:
    """A letter, digit or underscore of ASCII."""
    return character in _WORD


#: `\d` and its like; the capital letter is the opposite.
SHORTHANDS: dict[str, Accepts] = {
    "d": _DIGITS.__contains__,
    "w": _WORD.__contains__,
    "s": _SPACE.__contains__,
    "h": frozenset(
        " \t\xa0\u1680\u180e\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
    ).__contains__,
    "v": frozenset("\n\x0b\f\r\x85\u2028\u2029").__contains__,
}

#: `\p{…}`.
PROPERTIES: dict[str, Accepts] = {
    "Lower": lambda c: "a" <= c <= "z",
    "Upper": lambda c: "A" <= c <= "Z",
    "Alpha": lambda c: c.isascii() and c.isalpha(),
    "Digit": _DIGITS.__contains__,
    "Alnum": lambda c: c.isascii() and c.isalnum(),
    "Punct": _PUNCTUATION.__contains__,
    "Graph": lambda c: "!" <= c <= "~",
    "Print": lambda c: " " <= c <= "~",
    "Blank": " \t".__contains__,
    "Cntrl": lambda c: c < " " or c == "\x7f",
    "XDigit": frozenset("0123456789abcdefABCDEF").__contains__,
    "Space": _SPACE.__contains__,
    "ASCII": str.isascii,
    **{
        name: lambda c, start=name: unicodedata.category(c).startswith(start)  # type: ignore[misc]
        for name in (
            "L",
            "M",
            "N",
            "P",
            "S",
            "Z",
            "C",
            "Lu",
            "Ll",
            "Lt",
            "Lm",
            "Lo",
            "Nd",
            "Nl",
            "No",
            "Sc",
            "Zs",
        )
    },
}
