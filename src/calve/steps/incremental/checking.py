"""What can be told about incremental steps before they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from calve.steps.contract import Advice, Options
from calve.steps.incremental.naming import consumer_of
from calve.steps.incremental.options import IpCaptureOptions, IpCommitOptions
from calve.steps.options import READS, WRITES
from calve.workflow.definition.captures import capture_steps
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.problems import nearest
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import ParamDefinition, ParamType

COMMIT_TYPE = "ipcommit"


def check_capture(step: TypedStep, workflow: Workflow) -> Iterator[str]:
    """What is wrong with a capture step in its workflow."""
    yield from check_options(step, IpCaptureOptions)
    mine = consumer_name(step, workflow)
    for other in capture_steps(workflow):
        if other.id != step.id and mine is not None and consumer_name(other, workflow) == mine:
            yield (
                f"the capture steps '{step.id}' and '{other.id}' have one consumer name, '{mine}': "
                "each would take changes away from the other; give each its own 'consumer'"
            )
    if not any(step.id == target for target in committed_steps(workflow)):
        yield Advice(
            f"nothing commits the capture step '{step.id}', so every run would process the same changes "
            f"again; add a job of type IpCommit with capture_step: {step.id}"
        )


def check_commit(step: TypedStep, workflow: Workflow) -> Iterator[str]:
    """What is wrong with a commit step in its workflow."""
    yield from check_options(step, IpCommitOptions)
    known = [found.id for found in capture_steps(workflow)]
    if not known:
        yield f"'{step.id}' commits a capture, and no step of the workflow is an IpCapture; add one before it"
    else:
        yield from check_capture_step(step, IpCommitOptions.section, known, "commits")


def check_capture_step(
    step: TypedStep, section: str | None, known: Sequence[str], does: str
) -> Iterator[str]:
    """What is wrong with the `capture_step` of a step that does something with one of the known ones."""
    stated = literal(step, section, "capture_step")
    if stated is None and not is_given(step, section, "capture_step") and len(known) > 1:
        names = ", ".join(known)
        yield f"'{step.id}' does not say which capture it {does}; give capture_step, one of {names}"
    elif isinstance(stated, str) and stated not in known:
        meant = nearest(stated, known)
        hint = f"did you mean '{meant}'?" if meant else f"there is {', '.join(known)}"
        yield f"capture_step of '{step.id}' is '{stated}', which is not a step of type IpCapture; {hint}"


def committed_steps(workflow: Workflow) -> Iterator[str]:
    """The capture steps that some step commits; all of them, if a commit step names none or computes it."""
    every = [found.id for found in capture_steps(workflow)]
    for step in workflow.all_steps():
        if isinstance(step, TypedStep) and step.type.lower() == COMMIT_TYPE:
            stated = literal(step, IpCommitOptions.section, "capture_step")
            yield from every if not isinstance(stated, str) or "$" in stated else [stated]


def consumer_name(step: TypedStep, workflow: Workflow) -> str | None:
    """The consumer of a capture step; None if it is known only when it runs."""
    if not is_given(step, IpCaptureOptions.section, "consumer"):
        return consumer_of(workflow.id, step.id)
    stated = literal(step, IpCaptureOptions.section, "consumer")
    return stated if isinstance(stated, str) and "$" not in stated else None


def check_options(step: TypedStep, model: type[Options]) -> Iterator[str]:
    """What the options of a type say to the values that are written down; others are checked when it runs."""
    given = dict(_given(step, model.section))
    known = {*model.model_fields, *model.other_names, READS, WRITES}
    for name in _section_names(step, model.section):
        if name not in known:
            meant = nearest(name, known)
            guess = f"; did you mean '{meant}'?" if meant else ""
            yield f"'{name}' is not an option of {step.type}{guess}"
    literals = {name: _plain(param) for name, param in given.items() if _is_literal(param)}
    try:
        model.model_validate({name: value for name, value in literals.items() if name in known})
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False):
            where = str(details["loc"][0]) if details["loc"] else ""
            if where in given and where not in literals:
                continue
            message = details["msg"].removeprefix("Value error, ")
            yield f"'{step.id}': {where + ': ' if where else ''}{message}"


def literal(step: TypedStep, section: str | None, name: str) -> Any:
    """The value of an option as it is written; None if it is not there or is computed."""
    param = dict(_given(step, section)).get(name)
    return _plain(param) if param is not None and _is_literal(param) else None


def is_given(step: TypedStep, section: str | None, name: str) -> bool:
    """Whether an option is there, computed or not."""
    return name in dict(_given(step, section))


def _given(step: TypedStep, section: str | None) -> Iterator[tuple[str, Any]]:
    """The options of a step: params, or texts of a map of texts. What stands beside the section wins."""
    found = step.params.get(section) if section is not None else None
    if found is not None and found.is_defined and found.expression is None:
        yield from (found.members if found.type is ParamType.MAP else found.value).items()
    for name, param in step.params.items():
        if name != section:
            yield name, param


def _section_names(step: TypedStep, section: str | None) -> list[str]:
    found = step.params.get(section) if section is not None else None
    if found is None or found.expression is not None or not isinstance(found.value, Mapping):
        return []
    return list(found.value)


def _is_literal(param: Any) -> bool:
    if not isinstance(param, ParamDefinition):
        return not _is_computed(param)
    return param.expression is None and not _is_computed(_plain(param))


def _is_computed(value: Any) -> bool:
    if isinstance(value, str):
        return "$" in value
    if isinstance(value, Mapping):
        return any(map(_is_computed, value.values()))
    return isinstance(value, list | tuple) and any(map(_is_computed, value))


def _plain(param: Any) -> Any:
    return param.value if isinstance(param, ParamDefinition) else param
