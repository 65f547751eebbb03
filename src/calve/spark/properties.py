"""Settings as a file of Java's properties, which is how Spark reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_IN_KEYS = re.compile(r"[\\:=#!\s]")
_LINE_BREAKS = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f"}
_IN_VALUES = re.compile(r"[\\\n\r\t\f]|\A ")


def to_properties(settings: Mapping[str, str]) -> str:
    """The text of a properties file that gives back exactly these settings."""
    return "".join(
        f"{_IN_KEYS.sub(_escape, key)}={_IN_VALUES.sub(_escape, value)}\n" for key, value in settings.items()
    )


def _escape(match: re.Match[str]) -> str:
    return _LINE_BREAKS.get(match[0], "\\" + match[0])
