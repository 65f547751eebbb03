"""JSON objects as they come on the command line."""

from __future__ import annotations

import json
from typing import Any

from calve.errors import UsageError


def read_object(text: str | None, what: str, code: str, remedy: str) -> dict[str, Any]:
    """The object in a text; an empty one without a text. Raises `UsageError` with the code."""
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(code, f"{what} not JSON: {error}", remedy) from None
    return check_object(found, what, code, remedy)


def check_object(found: object, what: str, code: str, remedy: str) -> dict[str, Any]:
    """The value, if it is an object."""
    if isinstance(found, dict):
        return found
    raise UsageError(code, f"{what} not a JSON object", remedy)
