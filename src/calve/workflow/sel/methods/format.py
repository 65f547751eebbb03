"""`String.format`: the conversions of Java that make sense for SEL's types."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from calve.workflow.sel.errors import SelError, value_error
from calve.workflow.sel.limits import Meter
from calve.workflow.sel.printing import plain_text

_SPECIFIER = re.compile(r"%(?:(\d{1,9})\$)?([-#+ 0,(]*)(\d{1,9})?(?:\.(\d{1,9}))?([a-zA-Z%])")
_MAX_PRECISION = 400
_MAX_PADDING = 1_000_000
_RADIX = {"x": "0x", "o": "0"}
_WIDE = Context(prec=1200)


def format_text(meter: Meter, pattern: str, items: list[Any]) -> str:
    """`pattern` with its specifiers replaced by `items`; nothing of an item but its value is reachable."""
    made: list[str] = []
    end = 0
    following = 0
    for found in _SPECIFIER.finditer(pattern):
        made.append(_literal(pattern[end : found.start()]))
        end = found.end()
        position, _, width, _, conversion = found.groups()
        if conversion in "n%":
            made.append("\n" if conversion == "n" else _padded("%", found))
            continue
        index = following if position is None else int(position) - 1
        following += position is None
        if not 0 <= index < len(items):
            raise value_error(f"String.format has no argument for {found[0]}")
        meter.charge_text(min(int(width or 0), _MAX_PADDING))
        made.append(_padded(_convert(found, items[index]), found))
        meter.charge_text(len(made[-1]))
    made.append(_literal(pattern[end:]))
    return "".join(made)


def _literal(text: str) -> str:
    if "%" in text:
        raise value_error(f"String.format does not know the specifier at '{text[text.index('%') :][:20]}'")
    return text


def _padded(text: str, found: re.Match[str]) -> str:
    _, flags, width, _, _ = found.groups()
    if width is None:
        return text
    if int(width) > _MAX_PADDING:
        raise value_error(f"the width of {found[0]} is larger than {_MAX_PADDING}")
    return text.ljust(int(width)) if "-" in flags else text.rjust(int(width))


def _convert(found: re.Match[str], item: Any) -> str:
    _, _, _, precision, conversion = found.groups()
    kind = conversion.lower()
    if kind == "s":
        text = plain_text(item)
        text = text if precision is None else text[: int(precision)]
    elif kind == "b":
        text = plain_text(item if isinstance(item, bool) else item is not None)
    elif item is None:
        text = "null"
    elif kind in "dxo":
        text = _integer(found, item)
    elif kind in "fe":
        text = _real(found, item)
    elif kind == "c":
        text = _character(found, item)
    else:
        raise value_error(f"String.format does not know {found[0]}")
    return text.upper() if conversion.isupper() else text


def _integer(found: re.Match[str], item: Any) -> str:
    if isinstance(item, bool) or not isinstance(item, int):
        raise _wrong(found, item)
    kind = found[5].lower()
    if kind == "d":
        return _signed(found, str(abs(item)), item < 0)
    bits = 32 if -(2**31) <= item < 2**31 else 64
    return _filled(found, format(item % (1 << bits), kind), _RADIX[kind] if "#" in found[2] else "")


def _real(found: re.Match[str], item: Any) -> str:
    if not isinstance(item, float):
        raise _wrong(found, item)
    if not math.isfinite(item):
        return plain_text(item)
    places = 6 if found[4] is None else int(found[4])
    if places > _MAX_PRECISION:
        raise value_error(f"the precision of {found[0]} is larger than {_MAX_PRECISION}")
    negative = math.copysign(1, item) < 0
    if found[5].lower() == "e":
        return _signed(found, f"{abs(item):.{places}e}", negative)
    # With 400 places and 309 digits before the point, the default context of decimals is too small.
    digits = int((Decimal(repr(abs(item))).scaleb(places, _WIDE)).to_integral_value(ROUND_HALF_UP, _WIDE))
    whole = str(digits).rjust(places + 1, "0")
    return _signed(found, whole if places == 0 else f"{whole[:-places]}.{whole[-places:]}", negative)


def _character(found: re.Match[str], item: Any) -> str:
    if isinstance(item, int) and not isinstance(item, bool) and 0 <= item <= 0x10FFFF:
        return chr(item)
    raise _wrong(found, item)


def _signed(found: re.Match[str], digits: str, negative: bool) -> str:
    flags = found[2]
    if "," in flags:
        whole, point, rest = digits.partition(".")
        digits = f"{int(whole):,}{point}{rest}"
    if negative:
        return f"({digits})" if "(" in flags else _filled(found, digits, "-")
    return _filled(found, digits, "+" if "+" in flags else " " if " " in flags else "")


def _filled(found: re.Match[str], digits: str, sign: str) -> str:
    flags, width = found[2], found[3]
    if "0" in flags and width is not None and int(width) <= _MAX_PADDING:
        return sign + digits.rjust(int(width) - len(sign), "0")
    return sign + digits


def _wrong(found: re.Match[str], item: Any) -> SelError:
    return value_error(f"String.format cannot print {plain_text(item)[:40]} as {found[0]}")
