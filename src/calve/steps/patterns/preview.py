"""The SQL that the patterns of a workflow would run: for what is pending now, or for a capture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calve.errors import NotFoundError, UsageError
from calve.ledger.ledger import Ledger
from calve.steps.contract import StepContext
from calve.steps.incremental.naming import consumer_of
from calve.steps.incremental.options import IpCaptureOptions
from calve.steps.options import read_options
from calve.steps.patterns.finding import Found, pick_named, pick_source
from calve.steps.patterns.options import PatternOptions
from calve.steps.patterns.pending import pending_changes
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.step import Pattern
from calve.steps.registry import find
from calve.workflow.definition.captures import capture_steps
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import Evaluation, ParamDefinition


@dataclass(frozen=True, slots=True)
class Preview:
    """What one step would run."""

    step_id: str
    type: str
    source: str
    records: int
    rendered: Rendered

    def to_json(self) -> dict[str, Any]:
        """The preview for programs."""
        shown = {"step_id": self.step_id, "type": self.type, "source": self.source, "records": self.records}
        return {**shown, **self.rendered.to_json()}


def preview(
    ledger: Ledger,
    workflow: Workflow,
    step_id: str | None = None,
    params: Mapping[str, ParamDefinition] | None = None,
    capture_id: str | None = None,
) -> list[Preview]:
    """What the patterns of a workflow, or one, would run. Raises PATTERN_NOT_FOUND."""
    given = {**workflow.params, **(params or {})}
    return [
        _preview(ledger, workflow, step, type_, given, capture_id)
        for step, type_ in _patterns(workflow, step_id)
    ]


def _patterns(workflow: Workflow, step_id: str | None) -> list[tuple[TypedStep, Pattern]]:
    typed = [step for step in workflow.all_steps() if isinstance(step, TypedStep)]
    found = [(step, type_) for step in typed if isinstance(type_ := find(step.type), Pattern)]
    names = ", ".join(step.id for step, _ in found) or "none"
    if step_id is None:
        if not found:
            raise UsageError(
                "PATTERN_NOT_FOUND",
                f"no step of {workflow.id} is a pattern",
                "see docs/patterns.md for these",
            )
        return found
    if not any(step.id == step_id for step in workflow.all_steps()):
        raise NotFoundError(
            "PATTERN_NOT_FOUND",
            f"{workflow.id} has no step '{step_id}'",
            f"give one of its patterns: {names}",
        )
    chosen = [(step, type_) for step, type_ in found if step.id == step_id]
    if not chosen:
        raise UsageError(
            "PATTERN_NOT_FOUND", f"step '{step_id}' is not a pattern", f"give one of its patterns: {names}"
        )
    return chosen


def _preview(
    ledger: Ledger,
    workflow: Workflow,
    step: TypedStep,
    type_: Pattern,
    params: Mapping[str, ParamDefinition],
    capture_id: str | None,
) -> Preview:
    options = type_.read(_context(ledger, workflow, step, params, type_.option_names()))
    with _change(ledger, workflow, options, step, params, capture_id) as pending:
        rendered = type_.render(ledger.lake, options, pending)
    return Preview(step.id, type_.name, pending.changes.table, pending.changes.records, rendered)


@contextmanager
def _change(
    ledger: Ledger,
    workflow: Workflow,
    options: PatternOptions,
    step: TypedStep,
    params: Mapping[str, ParamDefinition],
    capture_id: str | None,
) -> Iterator[Found]:
    if capture_id is not None:
        yield pick_source(ledger.get(capture_id).record, options.source)
        return
    capture = _capture_step(workflow, options, step)
    names = {*IpCaptureOptions.model_fields, *IpCaptureOptions.other_names, str(IpCaptureOptions.section)}
    asked = read_options(IpCaptureOptions, _context(ledger, workflow, capture, params, names))
    consumer = asked.consumer or consumer_of(workflow.id, capture.id)
    with pending_changes(ledger, consumer, asked) as found:
        yield pick_named(found, options.source, f"the capture step '{capture.id}'")


def _capture_step(workflow: Workflow, options: PatternOptions, step: TypedStep) -> TypedStep:
    known = capture_steps(workflow)
    chosen = [found for found in known if options.capture_step in (None, found.id)]
    if len(chosen) != 1:
        names = ", ".join(found.id for found in known) or "none"
        raise UsageError(
            "CAPTURE_UNCLEAR",
            f"'{step.id}' has to name a step of type IpCapture; there is {names}",
            "give capture_step",
        )
    return chosen[0]


def _context(
    ledger: Ledger,
    workflow: Workflow,
    step: TypedStep,
    params: Mapping[str, ParamDefinition],
    names: set[str],
) -> StepContext:
    """A step with its options evaluated; its other params only as far as these need them."""
    evaluation = Evaluation({**params, **step.params})
    evaluated = {name: evaluation.evaluate(name).value for name in step.params if name in names}
    return StepContext(
        workflow_id=workflow.id,
        instance_id=0,
        run_id=0,
        step_id=step.id,
        attempt_id=0,
        attempt_uuid="",
        params=evaluated,
        workflow_params={},
        own_params=evaluated,
        settings=ledger.settings,
        place=Path(),
    )
