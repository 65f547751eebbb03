"""Edges: `dag` in all its forms, and the `transition` of a job.

    sequential | parallel
    {a: [b, IF rows > 0 THEN c, OTHERWISE d]}
    [a -> b -> c, {c: {IF rows > 0: d -> e, OTHERWISE: e}}]

The `transition` of a job is stronger than what `dag` says of the same job.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from calve.workflow.definition.identifiers import STEP_ID
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.steps import NO_CONDITION
from calve.workflow.definition.tree import MapBuilder, Node, Position

SEQUENTIAL = "sequential"
PARALLEL = "parallel"
TRANSITION_FORM = "'job', 'IF <expression> THEN job' or 'OTHERWISE job'"
DAG_FORM = "'sequential', 'parallel', a map of job to transitions, or a list of 'a -> b' chains"

_ARROW = "->"
_IF_THEN = re.compile(rf"\s*IF\s+(.+?)\s+THEN\s+({STEP_ID.pattern})\s*", re.IGNORECASE | re.DOTALL)
_OTHERWISE_JOB = re.compile(rf"\s*OTHERWISE\s+({STEP_ID.pattern})\s*", re.IGNORECASE)
_IF = re.compile(r"\s*IF\s+(.+)", re.IGNORECASE | re.DOTALL)
_OTHERWISE = re.compile(r"\s*OTHERWISE\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Edge:
    """The way to a job: always, if a condition holds, or (`is_otherwise`) if none of the others did."""

    target: str
    at: Position
    condition: Node | None = None
    is_otherwise: bool = False


class Edges:
    """The edges out of each job of one level."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._by_source: dict[str, list[Edge]] = {}
        self._places: dict[str, Position] = {}

    def mention(self, source: str, at: Position) -> None:
        """Note that a job is named, edges or not."""
        self._places.setdefault(source, at)

    def add(self, source: str, at: Position, edge: Edge) -> None:
        """Add an edge; the same unconditional edge again is the same edge."""
        edges = self._by_source.setdefault(source, [])
        self.mention(source, at)
        plain = edge.condition is None and not edge.is_otherwise
        if not (
            plain
            and any(e.target == edge.target and e.condition is None and not e.is_otherwise for e in edges)
        ):
            edges.append(edge)

    def sources(self) -> dict[str, Position]:
        """The jobs that edges leave from, with the place where each is first named."""
        return self._places

    def of(self, source: str) -> list[Edge]:
        """The edges out of a job."""
        return self._by_source.get(source, [])

    def successors(self, source: str) -> Node | None:
        """The edges out of a job in the model's form."""
        edges = self.of(source)
        return None if not edges else _successors(source, edges, self._problems)


def read_dag(node: Node, job_ids: list[str], edges: Edges, problems: Problems) -> None:
    """Add what `dag` says to the edges."""
    if node.is_map:
        for source, at, value in node.entries():
            _read_entry(source, at, value, edges, problems)
    elif node.is_list:
        for item in node.items():
            _read_item(item, edges, problems)
    elif node.text is not None and node.text.lower() == SEQUENTIAL:
        for source, target in pairwise(job_ids):
            edges.add(source, node.at, Edge(target, node.at))
    elif node.text is None or node.text.lower() != PARALLEL:
        problems.error(
            "DAG_SYNTAX",
            f"{node.describe()} is not a dag",
            node.at,
            found=node.text or node.describe(),
            expected=DAG_FORM,
            among=(SEQUENTIAL, PARALLEL),
        )


def read_transition(source: str, at: Position, node: Node, edges: Edges, problems: Problems) -> None:
    """Add what comes after a job: a text, a list of them, or branches."""
    if node.is_map:
        for key, key_at, chain in node.entries():
            _read_branch(source, at, Node(key, key_at, text_at=key_at), chain, edges, problems)
    elif node.is_list:
        for item in node.items():
            read_transition(source, at, item, edges, problems)
    else:
        _read_rule(source, at, node, edges, problems)


def _read_item(item: Node, edges: Edges, problems: Problems) -> None:
    if item.is_map:
        for source, at, value in item.entries():
            _read_entry(source, at, value, edges, problems)
        return
    jobs = _chain(item, problems)
    if jobs:
        _link(jobs, edges)


def _read_entry(source: str, at: Position, value: Node, edges: Edges, problems: Problems) -> None:
    edges.mention(source, at)
    if value.text is not None and _ARROW in value.text and not _IF.match(value.text):
        _link([(source, at), *_chain(value, problems)], edges)
    else:
        read_transition(source, at, value, edges, problems)


def _read_branch(source: str, at: Position, key: Node, value: Node, edges: Edges, problems: Problems) -> None:
    condition = _IF.fullmatch(str(key.value))
    if condition is None and not _OTHERWISE.fullmatch(str(key.value)):
        problems.error(
            "DAG_SYNTAX",
            f"'{key.value}' is not a branch of '{source}'",
            key.at,
            found=str(key.value),
            expected="'IF <expression>' or 'OTHERWISE'",
        )
        return
    jobs = _chain(value, problems)
    if not jobs:
        return
    test = (
        None
        if condition is None
        else Node(condition[1].strip(), key.at, text_at=key.inside(condition.start(1)))
    )
    edges.add(source, at, Edge(jobs[0][0], jobs[0][1], test, is_otherwise=condition is None))
    _link(jobs, edges)


def _link(jobs: list[tuple[str, Position]], edges: Edges) -> None:
    for (source, at), (target, target_at) in pairwise(jobs):
        edges.add(source, at, Edge(target, target_at))


def _chain(node: Node, problems: Problems) -> list[tuple[str, Position]]:
    jobs, index = [], 0
    for part in (node.text or "").split(_ARROW):
        name = part.strip()
        at = node.inside(index + len(part) - len(part.lstrip()))
        if not STEP_ID.fullmatch(name):
            problems.error(
                "DAG_SYNTAX",
                f"{node.describe()} is not a chain of jobs",
                at if name else node.at,
                found=node.describe(),
                expected="'a -> b -> c'",
            )
            return []
        jobs.append((name, at))
        index += len(part) + len(_ARROW)
    return jobs


def _read_rule(source: str, at: Position, node: Node, edges: Edges, problems: Problems) -> None:
    text = node.text
    if text is not None and (rule := _IF_THEN.fullmatch(text)) is not None:
        condition = Node(rule[1], node.at, text_at=node.inside(rule.start(1)))
        edges.add(source, at, Edge(rule[2], node.inside(rule.start(2)), condition))
    elif text is not None and (rule := _OTHERWISE_JOB.fullmatch(text)) is not None:
        edges.add(source, at, Edge(rule[1], node.inside(rule.start(1)), is_otherwise=True))
    elif text is not None and STEP_ID.fullmatch(text.strip()):
        edges.add(source, at, Edge(text.strip(), node.at))
    elif node.value not in ("", None):
        problems.error(
            "DAG_SYNTAX",
            f"{node.describe()} is not a transition",
            node.at,
            found=node.describe(),
            expected=TRANSITION_FORM,
        )


def _successors(source: str, edges: list[Edge], problems: Problems) -> Node:
    made = MapBuilder(edges[0].at)
    conditions: list[str] = []
    for index, edge in enumerate(edges):
        if edge.target in made:
            problems.warn(
                "EDGE_REPEATED", f"'{source}' names '{edge.target}' twice: the last one counts", edge.at
            )
        if edge.is_otherwise and index != len(edges) - 1:
            problems.error(
                "OTHERWISE_MISPLACED",
                f"OTHERWISE of '{source}' is followed by '{edges[index + 1].target}'",
                edge.at,
                found=f"OTHERWISE {edge.target}",
                expected="OTHERWISE as the last one",
            )
        if edge.condition is not None:
            conditions.append(str(edge.condition.value))
        made.put(edge.target, _condition(edge, conditions), edge.at)
    return made.build()


def _condition(edge: Edge, conditions: list[str]) -> Node:
    if edge.condition is not None:
        return edge.condition
    return Node(otherwise(conditions) if edge.is_otherwise else NO_CONDITION, edge.at)


def otherwise(conditions: list[str]) -> str:
    """The condition that holds when none of these does."""
    return "!((" + ") || (".join(conditions) + "))" if conditions else NO_CONDITION
