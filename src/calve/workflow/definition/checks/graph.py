"""The graph of each level: every edge leads to a job of the same level, and none leads back."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from calve.workflow.definition.outline import StepOutline, walk
from calve.workflow.definition.problems import Problems


def check_graph(steps: tuple[StepOutline, ...], problems: Problems) -> None:
    """Check the edges of this level, and of the levels inside it."""
    _check_level(steps, steps, problems)
    for step in steps:
        if step.steps:
            _check_level(step.steps, steps, problems)
            for inner in step.steps:
                check_graph(inner.steps, problems)


def _check_level(
    steps: tuple[StepOutline, ...], everything: tuple[StepOutline, ...], problems: Problems
) -> None:
    ids = [step.id for step in steps if step.id is not None]
    elsewhere = {step.id for step in walk(everything)} - set(ids)
    predecessors: dict[str, set[str]] = {name: set() for name in ids}
    for step in steps:
        for edge in step.edges():
            if edge.target in predecessors:
                if step.id is not None:
                    predecessors[edge.target].add(step.id)
                continue
            where = ", which is inside or outside of a loop" if edge.target in elsewhere else ""
            problems.error(
                "JOB_UNKNOWN",
                f"'{step.id}' leads to '{edge.target}', and there is no such job at its level{where}",
                edge.at,
                found=edge.target,
                expected="a job of this level: " + ", ".join(ids),
                among=ids,
            )
    _check_stated(steps, predecessors, problems)
    _check_cycle(steps, predecessors, problems)


def _check_stated(steps: tuple[StepOutline, ...], computed: dict[str, set[str]], problems: Problems) -> None:
    for step in steps:
        stated = step.node.get("transition", "predecessors")
        if stated is None or not stated.items() or step.id is None:
            continue
        names = [str(item.plain()) for item in stated.items()]
        if set(names) != computed[step.id] or len(names) != len(set(names)):
            problems.error(
                "PREDECESSORS_WRONG",
                f"the predecessors of '{step.id}' are stated as {', '.join(names)}",
                stated.at,
                found=", ".join(names),
                expected=", ".join(sorted(computed[step.id])) or "none",
                remedy="Correct the list, or leave it out: it follows from the successors.",
            )


def _check_cycle(
    steps: tuple[StepOutline, ...], predecessors: dict[str, set[str]], problems: Problems
) -> None:
    try:
        TopologicalSorter(predecessors).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        by_id = {step.id: step for step in steps}
        closing = next(edge for edge in by_id[cycle[-2]].edges() if edge.target == cycle[-1])
        problems.error(
            "DAG_CYCLE",
            "the jobs run in a circle: " + " -> ".join(cycle),
            closing.at,
            found=" -> ".join(cycle),
            expected="no way back to a job",
            remedy="Remove one of these edges; to repeat jobs, use a while.",
        )
