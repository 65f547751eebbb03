"""`docs/reference/definition.md`: the words of definitions, and the params that are always there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from calve.workflow.definition.incremental import IncrementalTrigger
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.retry import ExponentialBackoff, FixedBackoff, RetryPolicy
from calve.workflow.definition.run_strategy import Rule
from calve.workflow.definition.signals import SignalDependency, SignalOutput, SignalTrigger, TableDependency
from calve.workflow.definition.steps import FailureMode
from calve.workflow.definition.triggers import CronTrigger
from calve.workflow.params import ParamMode, ParamType
from calve.workflow.params.defaults import STEP_DEFAULTS, WORKFLOW_DEFAULTS
from calve.workflow.params.model import ParamDefinition
from tools.reference.markdown import code, page, paragraphs, table
from tools.reference.models import field_rows
from tools.reference.words import PLACES, other_names, ranges_table, words_table

_INTRODUCTION = (
    "The words of the language, as the code has them: under a workflow or a job every other key is a param. "
    "[Writing workflows](../definition.md) says what they mean, with examples."
)
MODELS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("retry_policy", RetryPolicy),
    ("backoff: exponential", ExponentialBackoff),
    ("backoff: fixed", FixedBackoff),
    ("A time trigger", CronTrigger),
    ("A signal trigger", SignalTrigger),
    ("An incremental trigger", IncrementalTrigger),
    ("signal_dependencies: a signal", SignalDependency),
    ("signal_dependencies: a table", TableDependency),
    ("signal_outputs", SignalOutput),
    ("Properties", Properties),
)
#: What the words of a place are about.
_ABOUT = {
    "the file": "A workflow, with what starts it and what is told of it.",
    "Workflow": "Every other key is a param of the workflow.",
    "every job": "What jobs of all kinds have. Every other key is a param of the job.",
    "job": "Runs a step type or a job template.",
    "subworkflow": "Starts another workflow, and waits for it unless `sync` is false.",
    "foreach": "Runs its jobs for every combination of its params.",
    "while": "Runs its jobs as long as its condition is true.",
}
#: Places that are not words themselves.
_PLAIN = ("the file", "every job")
#: Types of fields that YAML writes in another form than the model.
_IN_YAML = {"match_params": "map of values"}


def make() -> str:
    """The page."""
    return page("Definitions", _INTRODUCTION, _parts())


def _parts() -> Iterator[str]:
    for place in PLACES:
        yield f"## Words of {place.name if place.name in _PLAIN else code(place.name)}"
        yield _ABOUT[place.name]
        yield words_table(place)
        yield other_names(place)
    yield "## ranges"
    yield "A param of a foreach that counts, by its name: `ranges: {n: {to: 10}}`."
    yield ranges_table()
    yield "## Values"
    values = [
        ["`run_strategy`", _listed(rule.value.lower() for rule in Rule)],
        ["`failure_mode`", _listed(mode.value.lower() for mode in FailureMode)],
        ["type of a param", _listed(type_.value for type_ in ParamType)],
        ["mode of a param", _listed(mode.value.lower() for mode in ParamMode)],
    ]
    yield table(["", "one of"], values)
    for title, model in MODELS:
        yield f"## {title}"
        yield paragraphs(model.__doc__)
        yield _fields(model)
    yield "## Params that are always there"
    yield "Of a workflow:"
    yield _params(WORKFLOW_DEFAULTS.values())
    yield "Of a step:"
    yield _params(STEP_DEFAULTS.values())


def _fields(model: type[BaseModel]) -> str:
    rows = [
        [name, _IN_YAML.get(field, type_), *rest] for field, (name, type_, *rest) in field_rows(model).items()
    ]
    return table(["name", "type", "default", ""], rows)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(code(name) for name in names)


def _params(params: object) -> str:
    assert hasattr(params, "__iter__")
    return table(["param", "type", "mode", "expression"], [_param(param) for param in params])


def _param(param: ParamDefinition) -> list[str]:
    mode = param.mode.value.lower() if param.mode is not None else ""
    return [code(param.name), param.type.value, mode, code(param.expression or "")]
