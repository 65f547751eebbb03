"""Values of rows as JSON has them."""

from __future__ import annotations

import math
from typing import Any

from calve.spark.step.tables import to_plain


def plain(value: Any) -> Any:
    """The value; numbers that JSON lacks become text."""
    return _finite(to_plain(value))


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list():
            return [_finite(item) for item in value]
        case _:
            return value
