"""The keys that a change touches, and the source narrowed to their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calve.errors import UsageError
from calve.steps.patterns.rendering import stands
from calve.steps.patterns.rendering.names import columns, indent, quote
from calve.steps.patterns.rendering.query import Query
from calve.steps.patterns.rendering.request import Source
from calve.steps.patterns.rendering.upserting import BROADCAST_ROWS


@dataclass(frozen=True, slots=True)
class ChangedKeys:
    """Finds the keys of a change, by what they are in the source where that is known."""

    source: Source
    query: Query
    keys: Sequence[str]
    #: Keys as expressions over the source's columns.
    expressions: Mapping[str, str]

    def of_source(self) -> Mapping[str, str] | None:
        """All keys as expressions over the source; None if some are known only to the query."""
        found = {}
        for key in self.keys:
            if key in self.expressions:
                found[key] = f"({self.expressions[key]})"
            elif self.query.passes(key):
                found[key] = quote(key)
            else:
                return None
        return found

    def sql(self, conditions: Sequence[str]) -> str:
        """The keys of rows that came or went. Raises KEYS_UNKNOWN if they cannot be told."""
        came, went = stands.came(self.source, conditions), stands.went(self.source, conditions)
        parts = [self._keys_of(came)] + ([] if went is None else [self._keys_of(went)])
        return parts[0] if len(parts) == 1 else "\nUNION\n".join(parts)

    def _keys_of(self, stand: str) -> str:
        known = self.of_source()
        if known is not None:
            listed = ", ".join(f"{text} AS {quote(key)}" for key, text in known.items())
            return f"SELECT DISTINCT {listed} FROM {stand}"
        if not self.query.keeps_groups:
            raise UsageError(
                "KEYS_UNKNOWN",
                f"the query tests whole groups or windows, so the keys {', '.join(self.keys)} of a change "
                "cannot be told from it",
                "give keys as a map of each column to its expression over the source",
            )
        reading = self.query.reading(stand)
        return f"SELECT DISTINCT {columns(self.keys)} FROM (\n{indent(reading)}\n)"

    def query_over(self, changed: str, conditions: Sequence[str]) -> str:
        """The user's query over the rows of the source whose keys changed."""
        known = self.of_source()
        if known is None:
            # Spark moves the join below the aggregation by itself, since it is on what is grouped by.
            reading = self.query.reading(stands.state(self.source, conditions))
            equal = " AND ".join(f"q.{quote(key)} <=> k.{quote(key)}" for key in self.keys)
            return (
                f"SELECT {self._hint()}q.* FROM (\n{indent(reading)}\n) AS q\n"
                f"LEFT SEMI JOIN (\n{indent(changed)}\n) AS k ON {equal}"
            )
        # Under other names, since an expression could mean a key as well as a column of the source.
        aliases = {key: f"_calve_key_{at}" for at, key in enumerate(known, 1)}
        renamed = ", ".join(f"{quote(key)} AS {alias}" for key, alias in aliases.items())
        equal = " AND ".join(f"{text} <=> k.{aliases[key]}" for key, text in known.items())
        semi_join = f"\nLEFT SEMI JOIN (SELECT {renamed} FROM (\n{indent(changed)}\n)) AS k ON {equal}\n"
        return self.query.reading(stands.state(self.source, conditions, semi_join, self._hint()))

    def _hint(self) -> str:
        return "/*+ BROADCAST(k) */ " if self.source.changes.records <= BROADCAST_ROWS else ""
