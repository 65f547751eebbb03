"""Words that stand in texts for what is known only when a workflow runs.

Each is a plain word, so that a script with such words in it is parsed as any other. Where a word turns up in
the tree says whether it matters: in the name of a table it does, in a comparison it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_PARAM = re.compile(r"calveparam(\d+)x", re.IGNORECASE)
_CHANGE = re.compile(r"calvechange(\d+)x", re.IGNORECASE)
#: A word that stands alone, where a number may stand.
_ALONE = re.compile(r"(?<![\w.`'\"])calveparam\d+x(?![\w.`'\"])", re.IGNORECASE)


class StandIns:
    """The words of one workflow: for params that are not known, and for the changes that captures show."""

    def __init__(self) -> None:
        self._params: list[str] = []
        self._changes: list[str] = []

    def param(self, name: str) -> str:
        """The word for a param that is known only when the workflow runs."""
        return f"calveparam{_number(self._params, name)}x"

    def change(self, table: str) -> str:
        """The word for an ICDC table of a table, by its full name."""
        return f"calvechange{_number(self._changes, table)}x"

    def params_in(self, value: Any) -> tuple[str, ...]:
        """The unknown params that a value was made from."""
        found = [int(match[1]) for text in _texts(value) for match in _PARAM.finditer(text)]
        return tuple(dict.fromkeys(self._params[number] for number in found))

    def changed_table(self, name: str) -> str | None:
        """The table whose change a name stands for; None if it stands for none."""
        found = _CHANGE.fullmatch(name)
        return None if found is None else self._changes[int(found[1])]

    def tell(self, value: Any) -> str:
        """The value as its author wrote it: `${name}` in the place of each word."""
        shown = _PARAM.sub(lambda match: f"${{{self._params[int(match[1])]}}}", str(value))
        return _CHANGE.sub(lambda match: f"the change of {self._changes[int(match[1])]}", shown)


def as_numbers(text: str) -> str:
    """The text with a number for each unknown param that stands alone: some places take nothing else."""
    return _ALONE.sub("0", text)


def _number(known: list[str], name: str) -> int:
    if name not in known:
        known.append(name)
    return known.index(name)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
