"""Results that are worth keeping: of short expressions that give the same for the same params.

The date params of every workflow are such expressions, and are evaluated at every start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar

from calve.workflow.sel.limits import Limits

T = TypeVar("T")
Key = tuple[Any, ...]

SCALARS = (str, int, float)
ENTRIES = 4_096
_TEXT_LIMIT = 500
_VALUE_LIMIT = 100
# Whatever may look at the clock, at chance, or at a running workflow; rather too much than too little.
_IMPURE = re.compile(r"params|System|Math|UUID|[Nn]ow|[Rr]andom|[Tt]imeout|DateTime\s*\(\s*\)")


def memo_key(text: str, params: Mapping[str, Any], limits: Limits) -> Key | None:
    """What a result depends on; None if it depends on more than its params, or is not worth keeping."""
    if not _is_pure(text):
        return None
    # 1, 1.0 and true are equal as keys and different as values: the type is part of it.
    for value in params.values():
        if not isinstance(value, SCALARS) or (isinstance(value, str) and len(value) > _VALUE_LIMIT):
            return None
    return text, limits, *((name, type(value), value) for name, value in params.items())


@lru_cache(maxsize=ENTRIES)
def _is_pure(text: str) -> bool:
    return len(text) <= _TEXT_LIMIT and _IMPURE.search(text) is None


class Memo(Generic[T]):
    """What was kept last; all is forgotten when it gets too much."""

    def __init__(self) -> None:
        self._entries: dict[Key, T] = {}

    def get(self, key: Key) -> T | None:
        """What was kept; None if nothing was."""
        return self._entries.get(key)

    def put(self, key: Key, value: T) -> None:
        """Keep a result."""
        if len(self._entries) >= ENTRIES:
            self._entries.clear()
        self._entries[key] = value
