"""Which part of the lineage a page shows: a picture of everything helps nobody in a large lake."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calve.backfill.lineage.describing import Kind, Way
from calve.backfill.lineage.graph import Lineage, node_id

LIMIT = 300
Edges = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes by their ids, with the edges between them; `total` is how many nodes there are to be shown."""

    nodes: tuple[str, ...]
    edges: Edges
    total: int

    @property
    def workflows(self) -> tuple[str, ...]:
        """The ids of the workflows."""
        return names_of(Kind.WORKFLOW, self.nodes)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return names_of(Kind.TABLE, self.nodes)


def names_of(kind: Kind, nodes: Iterable[str]) -> tuple[str, ...]:
    """The names of the nodes of a kind."""
    prefix = node_id(kind, "")
    return tuple(node.removeprefix(prefix) for node in nodes if node.startswith(prefix))


def choose_all(lineage: Lineage, limit: int = LIMIT) -> Part:
    """Everything with a table or a call, workflow by workflow until there are enough nodes."""
    nodes: dict[str, None] = {}
    edges: list[Mapping[str, Any]] = []
    connected = [x for x in lineage.workflows.values() if x.reads or x.writes or x.calls]
    for found in connected:
        if len(nodes) >= limit:
            break
        own = lineage.edges([found.workflow_id])
        nodes |= dict.fromkeys([node_id(Kind.WORKFLOW, found.workflow_id), *_ends(own)])
        edges += own
    called = {call.workflow_id for x in connected for call in x.calls} & lineage.workflows.keys()
    total = len(lineage.tables) + len({x.workflow_id for x in connected} | called)
    return _cut(list(nodes), edges, lineage, limit, total)


def choose_around(lineage: Lineage, kind: Kind, name: str, way: Way | None, limit: int = LIMIT) -> Part:
    """What a table or a workflow is made from and what is made from it, the nearest first."""
    start = node_id(kind, name)
    inside = {start}
    for one in (way,) if way else Way:
        reach = lineage.upstream(name) if one is Way.UPSTREAM else lineage.downstream(name)
        inside |= {node_id(Kind.TABLE, table) for table in reach.tables}
        inside |= {node_id(Kind.WORKFLOW, workflow) for workflow in reach.workflows}
    found = lineage.edges(sorted(names_of(Kind.WORKFLOW, inside)))
    edges = [edge for edge in found if edge["from"] in inside and edge["to"] in inside]
    return _cut(_nearest_first(start, edges), edges, lineage, limit, len(inside))


def _ends(edges: Edges) -> list[str]:
    return [str(edge[end]) for edge in edges for end in ("from", "to")]


def _cut(nodes: Sequence[str], edges: Edges, lineage: Lineage, limit: int, total: int) -> Part:
    """So many nodes and the edges between them. A workflow that was called and never pushed is none."""
    workflow = node_id(Kind.WORKFLOW, "")
    known = [x for x in nodes if not x.startswith(workflow) or x.removeprefix(workflow) in lineage.workflows]
    kept = dict.fromkeys(known[:limit])
    between = [edge for edge in edges if edge["from"] in kept and edge["to"] in kept]
    return Part(tuple(kept), between, total)


def _nearest_first(start: str, edges: Edges) -> list[str]:
    beside: dict[str, list[str]] = {}
    for edge in edges:
        beside.setdefault(edge["from"], []).append(edge["to"])
        beside.setdefault(edge["to"], []).append(edge["from"])
    found = {start: None}
    waiting = deque([start])
    while waiting:
        for other in beside.get(waiting.popleft(), ()):
            if other not in found:
                found[other] = None
                waiting.append(other)
    return list(found)
