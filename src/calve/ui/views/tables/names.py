"""The tables that Calve knows of, without asking a catalog."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, text

from calve.backfill.lineage.graph import Lineage
from calve.state.schema import chains
from calve.steps.table_signals import TABLE_PREFIX, VALID_THROUGH_PREFIX

#: Each name is one look into the index, however many signals of it there are.
_SIGNALS = text(
    "WITH RECURSIVE found(name) AS (SELECT min(name) FROM signals UNION ALL"
    " SELECT (SELECT min(name) FROM signals WHERE name > found.name) FROM found WHERE found.name IS NOT NULL)"
    " SELECT name FROM found WHERE name IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class Known:
    """All names in order, and those of tables that Calve has written."""

    names: tuple[str, ...]
    written: frozenset[str]

    def page(self, search: str, after: str, limit: int) -> tuple[Sequence[str], bool]:
        """Names that contain a text, after one of them; and whether there are more."""
        wanted = search.strip().lower()
        rest = self.names[bisect_right(self.names, after) :] if after else self.names
        found = [name for name in rest if wanted in name.lower()] if wanted else rest
        return found[:limit], len(found) > limit


def known_tables(connection: Connection, lineage: Lineage) -> Known:
    """Tables of workflows, of consumers, and of signals that say that one was written or is complete."""
    signalled = connection.execute(_SIGNALS).scalars().all()
    written = _without(TABLE_PREFIX, signalled)
    captured = connection.execute(select(chains.c.table_name).distinct()).scalars()
    more = {*captured, *written, *_without(VALID_THROUGH_PREFIX, signalled)}.difference(lineage.tables)
    # Two ordered parts are quickly put in order.
    names = sorted([*lineage.tables, *sorted(more)]) if more else lineage.tables
    return Known(tuple(names), frozenset(written))


def _without(prefix: str, signals: Sequence[str]) -> list[str]:
    return [name.removeprefix(prefix) for name in signals if name.startswith(prefix)]
