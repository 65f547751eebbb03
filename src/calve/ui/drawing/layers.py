"""Nodes in layers, in an order with few crossings: Sugiyama's method, its crossing reduction by igraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import igraph

from calve.ui.drawing.rows import settle_rows

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: its layer, and its row within, which may be between two rows."""

    layer: int
    row: float


@dataclass(frozen=True, slots=True)
class Layered:
    """The places of nodes, and of the bends of edges that pass over layers."""

    nodes: Mapping[str, Place]
    bends: Mapping[Edge, tuple[Place, ...]]
    layers: int
    rows: float


def layer(nodes: Sequence[str], edges: Sequence[Edge]) -> Layered:
    """Give every node a layer right of all it comes after; edges that close a circle do not count."""
    return _layer(tuple(nodes), tuple(edges))


# A page that lives asks for the same graph again and again.
@lru_cache(maxsize=128)
def _layer(nodes: tuple[str, ...], edges: tuple[Edge, ...]) -> Layered:
    if not nodes:
        return Layered({}, {}, 0, 0)
    forward = _without_circles(nodes, edges)
    layers = _longest_paths(nodes, forward)
    # An edge that passes over layers gets a node of its own in each, so that it is led around others.
    names: list[str | None] = list(nodes)
    levels = [layers[node] for node in nodes]
    numbers = {node: number for number, node in enumerate(nodes)}
    links: list[tuple[int, int]] = []
    chains: dict[Edge, list[int]] = {}
    for edge in forward:
        before = numbers[edge[0]]
        chain = chains.setdefault(edge, [])
        for level in range(layers[edge[0]] + 1, layers[edge[1]]):
            names.append(None)
            levels.append(level)
            links.append((before, len(names) - 1))
            before = len(names) - 1
            chain.append(before)
        links.append((before, numbers[edge[1]]))
    rows = settle_rows(_order(len(names), links, levels), levels, links, [name is None for name in names])
    places = [Place(level, row) for level, row in zip(levels, rows, strict=True)]
    return Layered(
        {node: places[numbers[node]] for node in nodes},
        {edge: tuple(places[number] for number in chain) for edge, chain in chains.items()},
        max(levels) + 1,
        max(rows) + 1,
    )


def _order(count: int, links: Sequence[tuple[int, int]], levels: Sequence[int]) -> list[float]:
    """Numbers that order the nodes of a layer with few crossings."""
    graph = igraph.Graph(count, list(links), directed=True)
    return [float(point[0]) for point in graph.layout_sugiyama(layers=list(levels), hgap=1, vgap=1)]


def _without_circles(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """The edges but for those that lead back to where a path came from."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        after[source].append(target)
    back: set[Edge] = set()
    done: set[str] = set()
    for start in nodes:
        if start in done:
            continue
        way = [(start, iter(after[start]))]
        on_way = {start}
        while way:
            node, rest = way[-1]
            following = next(rest, None)
            if following is None:
                way.pop()
                on_way.discard(node)
                done.add(node)
            elif following in on_way:
                back.add((node, following))
            elif following not in done:
                way.append((following, iter(after[following])))
                on_way.add(following)
    return [edge for edge in edges if edge not in back]


def _longest_paths(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The layer of each node: how many come before it on the longest way to it."""
    waiting = dict.fromkeys(nodes, 0)
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        waiting[target] += 1
        after[source].append(target)
    found = dict.fromkeys(nodes, 0)
    ready = [node for node in nodes if waiting[node] == 0]
    while ready:
        node = ready.pop()
        for following in after[node]:
            found[following] = max(found[following], found[node] + 1)
            waiting[following] -= 1
            if waiting[following] == 0:
                ready.append(following)
    return found
