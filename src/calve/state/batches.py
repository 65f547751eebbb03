"""Long lists of values, in pieces that a statement takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

_T = TypeVar("_T")
_AT_ONCE = 500


def in_batches(values: Sequence[_T], size: int = _AT_ONCE) -> Iterator[Sequence[_T]]:
    """The values in their order, so many at once."""
    return (values[start : start + size] for start in range(0, len(values), size))
