"""What can be told about a pattern in its workflow before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calve.errors import UsageError
from calve.lake.catalogs import split_name
from calve.ledger.asks import default_alias
from calve.steps.incremental.checking import check_capture_step, check_options, is_given, literal
from calve.steps.incremental.options import IpCaptureOptions
from calve.steps.patterns.options import PatternOptions
from calve.steps.patterns.rendering.query import Query
from calve.workflow.definition.captures import SOURCE_NAMES, capture_steps
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import Step, TypedStep


def check_pattern(step: TypedStep, workflow: Workflow, model: type[PatternOptions]) -> Iterator[str]:
    """What is wrong with a pattern step."""
    yield from check_options(step, model)
    known = capture_steps(workflow)
    if not known:
        yield f"'{step.id}' processes a change, and no step of type IpCapture is there; add one before it"
        return
    flaws = list(check_capture_step(step, model.section, [found.id for found in known], "processes"))
    yield from flaws
    if flaws:
        return
    stated = literal(step, model.section, "capture_step")
    capture = next((found for found in known if found.id == stated), known[0])
    yield from _check_order(step, capture, workflow)
    yield from _check_tables(step, capture, model)


def _check_order(step: TypedStep, capture: TypedStep, workflow: Workflow) -> Iterator[str]:
    siblings = next((group for group in _groups(workflow.steps) if step.id in group), {})
    if capture.id in siblings and step.id not in _after(siblings, capture.id):
        yield f"'{step.id}' does not come after the capture step '{capture.id}', and would have no change"


def _groups(steps: tuple[Step, ...]) -> Iterator[Mapping[str, Step]]:
    """The steps of a workflow, and those of each loop in it, by their names."""
    yield {step.id: step for step in steps}
    for step in steps:
        inner: Any = getattr(step, "steps", None)
        if inner:
            yield from _groups(inner)


def _after(steps: Mapping[str, Step], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for following in steps[waiting.pop()].transition.successors:
            if following in steps and following not in found:
                found.add(following)
                waiting.append(following)
    return found


def _check_tables(step: TypedStep, capture: TypedStep, model: type[PatternOptions]) -> Iterator[str]:
    sources = _sources(capture)
    if not sources:
        return
    target = literal(step, model.section, "target")
    for table, _ in sources:
        if isinstance(target, str) and _same_table(target, table):
            yield f"the target of '{step.id}' is the source {table}: a run would process what the last wrote"
    wanted = literal(step, model.section, "source")
    aliases = [alias for _, alias in sources]
    if isinstance(wanted, str) and not any(wanted in source for source in sources):
        yield f"source of '{step.id}' is '{wanted}', which is not captured; there is {', '.join(aliases)}"
    elif wanted is None and len(sources) > 1 and not is_given(step, model.section, "source"):
        yield f"'{step.id}' does not say which source it processes; give source, one of {', '.join(aliases)}"
    else:
        chosen = next((source for source in sources if wanted in source), sources[0])
        yield from _check_query(step, literal(step, model.section, "query"), chosen)


def _check_query(step: TypedStep, query: Any, source: tuple[str, str]) -> Iterator[str]:
    if not isinstance(query, str):
        return
    try:
        Query(query, source).places()
    except UsageError as error:
        # That it is no SQL is told where its value is looked at.
        if error.code != "QUERY_INVALID":
            yield f"'{step.id}': {error.message}; {error.remedy}"


def _sources(capture: TypedStep) -> list[tuple[str, str]]:
    """The tables of a capture with their aliases, as far as they are written down."""
    written = (literal(capture, IpCaptureOptions.section, name) for name in SOURCE_NAMES)
    stated = next((found for found in written if found is not None), None)
    if stated is None:
        return []
    try:
        read = IpCaptureOptions.model_validate({"source_tables": stated}).source_tables
        return [(found.table, found.alias or default_alias(found.table)) for found in read]
    except (ValueError, UsageError):
        # What is wrong with the capture is told with the capture.
        return []


def _same_table(one: str, other: str) -> bool:
    try:
        parts = sorted((split_name(one), split_name(other)), key=len)
    except UsageError:
        return False
    return [part.lower() for part in parts[1][-len(parts[0]) :]] == [part.lower() for part in parts[0]]
