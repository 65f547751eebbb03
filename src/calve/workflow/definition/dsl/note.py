"""The flat form of a workflow: `steps:` with `name`, `type` and `dependsOn`.

steps:
  - {name: capture, type: ICDC, sourceTable: db.events}
  - {name: load, type: Spark, script: load.py, dependsOn: [capture]}

This form knows no commit: a capture that nothing commits is committed after the last step.
"""

from __future__ import annotations

from calve.workflow.definition.dsl import words
from calve.workflow.definition.dsl.dag import Edge, Edges
from calve.workflow.definition.dsl.jobs import Reading, check_sources, put_type, transition_of
from calve.workflow.definition.dsl.scalars import as_text, copy, expect_list, expect_map, one_of
from calve.workflow.definition.dsl.values import read_params
from calve.workflow.definition.tree import MapBuilder, Node

DEPENDS_ON = ("dependsOn", "depends_on")
_CAPTURES = ("icdc", "ipcapture")
_COMMIT = "IpCommit"


def is_flat(steps: Node | None) -> bool:
    """True if these are steps of the flat form, and not each in a map of one key, its kind."""
    items = [] if steps is None else steps.items()
    return bool(items) and all(item.is_map and len(item.value) > 1 for item in items)


def read_flat_steps(steps: Node, reading: Reading) -> Node:
    """The steps in the model's form."""
    if not expect_list(steps, "steps", reading.problems):
        return Node([], steps.at)
    bodies = [step for step in steps.items() if expect_map(step, "a step", reading.problems)]
    names = [(_name(body), body) for body in bodies]
    edges = Edges(reading.problems)
    for name, body in names:
        _add_dependencies(name, body, edges, reading)
    check_sources(edges, [str(name.value) for name, _ in names if name is not None], reading.problems)
    commits = [_commit(name, names, edges) for name, _ in _uncommitted(names)]
    return Node([*(_step(name, body, edges, reading) for name, body in names), *commits], steps.at)


def _uncommitted(names: list[tuple[Node | None, Node]]) -> list[tuple[Node, Node]]:
    types = [str(body.get("type").plain()).lower() if body.get("type") else "" for _, body in names]  # type: ignore[union-attr]
    if _COMMIT.lower() in types:
        return []
    found = zip(names, types, strict=True)
    return [(name, body) for (name, body), type_ in found if type_ in _CAPTURES and name is not None]


def _commit(capture: Node, names: list[tuple[Node | None, Node]], edges: Edges) -> Node:
    """A step that commits a capture after all that has nothing behind it."""
    commit = f"commit_{capture.text}"
    ids = [name.text for name, _ in names if name is not None and name.text]
    for last in [name for name in ids if edges.successors(name) is None]:
        edges.add(last, capture.at, Edge(commit, capture.at))
    made = MapBuilder(capture.at)
    made.put("id", commit)
    made.put("type", _COMMIT)
    made.put("params", {"capture_step": {"value": capture.text, "type": "STRING"}})
    step = MapBuilder(capture.at)
    step.put("step", made.build(), capture.at)
    return step.build()


def _name(body: Node) -> Node | None:
    return as_text(body.get("id")) or as_text(body.get("name"))


def _add_dependencies(name: Node | None, body: Node, edges: Edges, reading: Reading) -> None:
    stated = one_of(body, reading.problems, *DEPENDS_ON)
    if stated is None or name is None or name.text is None:
        return
    for source in [stated] if stated.is_scalar else stated.items():
        if source.text is not None:
            edges.add(source.text, source.at, Edge(name.text, source.at))


def _step(name: Node | None, body: Node, edges: Edges, reading: Reading) -> Node:
    made = MapBuilder(body.at)
    made.put("id", name)
    if body.get("id") is not None:
        made.put("name", as_text(body.get("name")), body.keys.get("name"))
    copy(body, made, "description", "failure_mode", "tags", "timeout")
    none = Edges(reading.problems)
    made.put("transition", transition_of(None if name is None else name.text, none, edges))
    put_type(body, made, reading)
    params = read_params(body, reading.problems, skip=words.JOBS["job"] | set(DEPENDS_ON))
    if params.value:
        made.put("params", params)
    step = MapBuilder(body.at)
    step.put("step", made.build(), body.at)
    return step.build()
