"""Each param by itself: its name, its type and value; and the params of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calve.errors import UsageError
from calve.workflow.definition.identifiers import step_id_fault
from calve.workflow.definition.outline import ParamOutline, StepOutline, params_in, walk
from calve.workflow.definition.params import LOOP_PARAMS, PARAM_COUNT_LIMIT, RESERVED_NAMES
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.signals import VALID_THROUGH
from calve.workflow.definition.tree import Node, Position
from calve.workflow.params.defaults import STEP_DEFAULTS, WHILE_DEFAULTS, WORKFLOW_DEFAULTS
from calve.workflow.params.model import InternalMode, ParamDefinition, ParamType

_SCALARS = (ParamType.STRING, ParamType.LONG, ParamType.DOUBLE, ParamType.BOOLEAN)
_OUTPUTS = ("params", "payload")


def check_params(workflow: Node, steps: tuple[StepOutline, ...], problems: Problems) -> None:
    """Check the params of the workflow, of its steps and of their loops."""
    _check_map(workflow.get("params"), _reserved(WORKFLOW_DEFAULTS), problems)
    for step in walk(steps):
        _check_map(step.node.get("params"), _reserved(STEP_DEFAULTS | WHILE_DEFAULTS), problems)
        _check_loop(step, problems)
        _check_signals(step.node, problems)
    _check_loop_names(steps, {}, problems)


def _reserved(defaults: Mapping[str, ParamDefinition]) -> frozenset[str]:
    """The names that are reserved everywhere, and those that the system gives a value in this scope."""
    own = {name for name, param in defaults.items() if param.internal_mode is InternalMode.RESERVED}
    return RESERVED_NAMES | own


def _check_map(params: Node | None, reserved: frozenset[str], problems: Problems) -> None:
    if params is None or not params.is_map:
        return
    if len(params.value) > PARAM_COUNT_LIMIT:
        problems.error(
            "PARAM_LIMIT",
            f"there are {len(params.value)} params",
            params.at,
            found=str(len(params.value)),
            expected=f"at most {PARAM_COUNT_LIMIT}",
        )
    for param in params_in(params):
        check_name(param.name, param.at, reserved, problems)
        check_definition(param, problems)


def check_name(name: str, at: Position, reserved: frozenset[str], problems: Problems) -> None:
    """The name of a param is well made and not reserved."""
    fault = step_id_fault(name, "the name of a param")
    if name in reserved:
        fault = "the name is reserved"
    if fault is not None:
        problems.error("PARAM_NAME", f"'{name}' is not the name of a param: {fault}", at, found=name)


def check_definition(param: ParamOutline, problems: Problems) -> None:
    """The param is what the model accepts; a MAP is looked at member by member."""
    members = param.members()
    for member in members:
        check_definition(member, problems)
    if members:
        return
    try:
        ParamDefinition.from_json(param.name, param.node.plain())
    except UsageError as error:
        found = param.node.get("value") or param.node
        problems.error(error.code, error.message, found.at, found=found.describe(), remedy=error.remedy)


def _check_signals(body: Node, problems: Problems) -> None:
    for output in _items(body, "signal_outputs"):
        for key in _OUTPUTS:
            for param in params_in(output.get(key) or Node({}, output.at)):
                check_definition(param, problems)
    for dependency in _items(body, "signal_dependencies"):
        for name, at, match in (dependency.get("match_params") or Node({}, dependency.at)).entries():
            node = match.get("param")
            if node is not None:
                check_definition(ParamOutline(name, at, node), problems)
        moment = dependency.get(VALID_THROUGH)
        if moment is not None:
            check_definition(ParamOutline(VALID_THROUGH, moment.at, moment), problems)


def _items(body: Node, key: str) -> Sequence[Node]:
    found = body.get(key)
    return () if found is None else found.items()


def _check_loop(step: StepOutline, problems: Problems) -> None:
    if step.kind not in ("foreach", "while"):
        return
    given = step.node.get("params", LOOP_PARAMS)
    params = step.loop_params()
    if not params and (step.kind == "foreach" or given is not None):
        problems.error(
            "LOOP_PARAMS_MISSING",
            f"the {step.kind} '{step.id}' has no params to loop over",
            step.at,
            expected="'params' with at least one param, written out as a map",
        )
    for param in params:
        check_name(param.name, param.at, RESERVED_NAMES, problems)
        found = param.node.get("type")
        type_ = None if found is None or found.text is None else ParamType.__members__.get(found.text.upper())
        if type_ is None:
            continue
        fits = type_.element is not None if step.kind == "foreach" else type_ in _SCALARS
        if not fits:
            problems.error(
                "LOOP_PARAM_TYPE",
                f"the loop param '{param.name}' is a {type_.value}",
                param.at,
                found=type_.value,
                expected="an array" if step.kind == "foreach" else "a single value",
            )


def _check_loop_names(
    steps: tuple[StepOutline, ...], outer: dict[str, str | None], problems: Problems
) -> None:
    for step in steps:
        own = {param.name: param for param in step.loop_params()}
        for name in own.keys() & outer.keys():
            problems.error(
                "LOOP_PARAM_REUSED",
                f"the loop param '{name}' of '{step.id}' is a loop param of '{outer[name]}' around it too",
                own[name].at,
                found=name,
                expected="a name that no loop around it has",
            )
        _check_loop_names(step.steps, outer | dict.fromkeys(own, step.id), problems)
