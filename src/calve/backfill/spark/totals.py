"""Groups of a comparison added up. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from calve.backfill.spark.report import Group, Moves, Side


def total_of(groups: Iterable[Group]) -> Group:
    """All groups as one."""
    listed = list(groups)
    moves = [found.moves for found in listed]
    return Group(
        {},
        add_sides([found.main for found in listed]),
        add_sides([found.branch for found in listed]),
        Moves(sum(x.added for x in moves), sum(x.removed for x in moves), sum(x.changed for x in moves)),
    )


def add_sides(sides: Sequence[Side]) -> Side:
    """Several sides as one."""
    names = dict.fromkeys(name for side in sides for name in side.nulls)
    summed = dict.fromkeys(name for side in sides for name in side.sums)
    return Side(
        sum(side.rows for side in sides),
        {name: _add_values([side.sums[name] for side in sides if name in side.sums]) for name in summed},
        {name: sum(side.nulls.get(name, 0) for side in sides) for name in names},
    )


def _add_values(values: Sequence[Any]) -> Any:
    """A sum of sums; text is a number that JSON lacks, and so is what it is added to."""
    known = [value for value in values if value is not None]
    odd = next((value for value in known if isinstance(value, str)), None)
    if odd is not None or not known:
        return odd
    return sum(known) if all(isinstance(x, int) for x in known) else float(sum(map(Decimal, map(str, known))))
