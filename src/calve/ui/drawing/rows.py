"""Places within layers: each thing near what it is joined to, and none on another.

The order within a layer is given. In turns, every layer is moved so that its things stand as near as they can
to their neighbours in the layers beside it; how near is found exactly, by pooling those that are in each
other's way (isotonic regression).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Link = tuple[int, int]

_TURNS = 4
#: Between two nodes, beside a bend of an edge, and between two bends, in rows.
_NODES, _BESIDE, _BENDS = 1.0, 0.62, 0.3
#: How strongly a link pulls, by how many of its ends are bends: long edges are to be straight.
_PULLS = (1.0, 2.0, 8.0)


def settle_rows(
    hints: Sequence[float], levels: Sequence[int], links: Sequence[Link], bends: Sequence[bool]
) -> list[float]:
    """A row for each thing, from 0 on; `hints` order those of a layer, `bends` says which are no nodes."""
    layers = _layers(hints, levels)
    gaps = [_gaps(layer, bends) for layer in layers]
    before, after = _neighbours(len(hints), links, bends)
    rows = [0.0] * len(hints)
    for layer, between in zip(layers, gaps, strict=True):
        _put(rows, layer, _spread([0.0] * len(layer), [1.0] * len(layer), between))
    for turn in range(2 * _TURNS):
        # There and back; at last each layer looks at both sides.
        sides = (before, after) if turn >= _TURNS else (after,) if turn % 2 else (before,)
        order = range(len(layers) - 1, -1, -1) if turn % 2 else range(len(layers))
        for number in order:
            _move(rows, layers[number], gaps[number], sides)
    least = min(rows, default=0.0)
    return [round(row - least, 3) for row in rows]


def _layers(hints: Sequence[float], levels: Sequence[int]) -> list[list[int]]:
    layers: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for thing in sorted(range(len(hints)), key=lambda thing: hints[thing]):
        layers[levels[thing]].append(thing)
    return layers


def _gaps(layer: Sequence[int], bends: Sequence[bool]) -> list[float]:
    """How far each thing is at least from the one before it; nothing for the first."""
    counts = [bends[one] + bends[other] for one, other in pairwise(layer)]
    return [0.0, *((_NODES, _BESIDE, _BENDS)[count] for count in counts)]


Neighbours = list[list[tuple[int, float]]]


def _neighbours(count: int, links: Sequence[Link], bends: Sequence[bool]) -> tuple[Neighbours, Neighbours]:
    before: Neighbours = [[] for _ in range(count)]
    after: Neighbours = [[] for _ in range(count)]
    for source, target in links:
        pull = _PULLS[bends[source] + bends[target]]
        after[source].append((target, pull))
        before[target].append((source, pull))
    return before, after


def _move(
    rows: list[float], layer: Sequence[int], gaps: Sequence[float], sides: tuple[Neighbours, ...]
) -> None:
    wanted, weights = [], []
    for thing in layer:
        near = [one for side in sides for one in side[thing]]
        weight = sum(pull for _, pull in near)
        wanted.append(sum(rows[other] * pull for other, pull in near) / weight if near else rows[thing])
        # What nothing pulls at gives way.
        weights.append(weight or 0.01)
    _put(rows, layer, _spread(wanted, weights, gaps))


def _put(rows: list[float], layer: Sequence[int], places: Sequence[float]) -> None:
    for thing, place in zip(layer, places, strict=True):
        rows[thing] = place


def _spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones, in order and with the gaps between them."""
    offsets: list[float] = []
    for gap in gaps:
        offsets.append(gap + (offsets[-1] if offsets else 0.0))
    # Without the gaps, the places only have to grow: neighbours that do not are pooled at their mean.
    pools: list[tuple[float, float, int]] = []
    for place, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, count = place - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            other, more, size = pools.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + size
        pools.append((mean, total, count))
    flat = [mean for mean, _, count in pools for _ in range(count)]
    return [place + offset for place, offset in zip(flat, offsets, strict=True)]
