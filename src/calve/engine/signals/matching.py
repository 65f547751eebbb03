"""Finding a signal by what its params have to be.

The cost follows the rarest condition: its entries in the index are the candidates. Only if each of the
conditions holds for many signals are the signals themselves read, a page at a time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, select
from sqlalchemy.sql.elements import UnaryExpression

from calve.engine.signals.encoding import SignalValue, span
from calve.engine.signals.model import Condition, satisfies
from calve.state.orchestration import signal_params, signals
from calve.workflow.definition.signals import Operator

#: A condition with at most so many entries gives the candidates.
FEW = 256
PAGE = 500


@dataclass(frozen=True, slots=True)
class Stretch:
    """Which signals of a name are looked at, and which of those that match is taken."""

    after: int = 0
    until: int | None = None
    newest: bool = False

    def covers(self, seq_id: ColumnElement[int]) -> list[ColumnElement[bool]]:
        """The bounds of a number, as a query states them."""
        bounds = [seq_id > self.after]
        return bounds if self.until is None else [*bounds, seq_id <= self.until]

    def order(self, seq_id: ColumnElement[int]) -> UnaryExpression[int]:
        """The order in which the first match is the one to take."""
        return seq_id.desc() if self.newest else seq_id.asc()

    def beyond(self, seq_id: int) -> Stretch:
        """What is left once all up to `seq_id`, in this order, were looked at."""
        if self.newest:
            return Stretch(self.after, seq_id - 1, self.newest)
        return Stretch(seq_id, self.until, self.newest)


def match_dependency(connection: Connection, name: str, conditions: Sequence[Condition]) -> int | None:
    """The newest signal of that name, of any age, that meets all conditions; None if there is none."""
    return find_match(connection, name, conditions, Stretch(newest=True))


def find_match(
    connection: Connection, name: str, conditions: Sequence[Condition], stretch: Stretch
) -> int | None:
    """The first signal within the stretch, in its order, that meets all conditions."""
    candidates: Collection[int] | None = None
    for condition in conditions:
        entries = _entries(connection, name, condition, stretch)
        if len(entries) <= FEW and (candidates is None or len(entries) < len(candidates)):
            candidates = entries
        if not entries:
            return None
    if candidates is None:
        return _search(connection, name, conditions, stretch)
    found = [
        seq_id
        for seq_id, params in _params(connection, name, candidates).items()
        if satisfies(params, conditions)
    ]
    return (max if stretch.newest else min)(found, default=None)


def _entries(connection: Connection, name: str, condition: Condition, stretch: Stretch) -> list[int]:
    """The signals for which one condition holds; one more than FEW says that there are more."""
    wanted, value = span(condition.operator, condition.value), signal_params.c.value
    seq_id = signal_params.c.seq_id
    query = select(seq_id).where(
        signal_params.c.name == name, signal_params.c.param == condition.param, *stretch.covers(seq_id)
    )
    if condition.operator is Operator.EQUAL:
        query = query.where(value == wanted.low)
    else:
        query = query.where(value >= wanted.low if wanted.low_inclusive else value > wanted.low)
        query = query.where(value <= wanted.high if wanted.high_inclusive else value < wanted.high)
    return list(connection.execute(query.limit(FEW + 1)).scalars())


def _params(
    connection: Connection, name: str, seq_ids: Collection[int]
) -> Mapping[int, Mapping[str, SignalValue]]:
    return _read(connection, _signals(name).where(signals.c.seq_id.in_(seq_ids)))


def _search(
    connection: Connection, name: str, conditions: Sequence[Condition], stretch: Stretch
) -> int | None:
    while True:
        query = _signals(name).where(*stretch.covers(signals.c.seq_id))
        page = _read(
            connection, query.order_by(stretch.order(signals.c.seq_id)).limit(PAGE if conditions else 1)
        )
        for seq_id, params in page.items():
            if satisfies(params, conditions):
                return seq_id
        if len(page) < PAGE:
            return None
        stretch = stretch.beyond(next(reversed(page)))


def _signals(name: str) -> Select[tuple[int, str]]:
    return select(signals.c.seq_id, signals.c.params).where(signals.c.name == name)


def _read(connection: Connection, query: Select[tuple[int, str]]) -> dict[int, Mapping[str, SignalValue]]:
    return {row.seq_id: json.loads(row.params) for row in connection.execute(query)}
