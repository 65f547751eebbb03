"""`docs/reference/definition.md`: the words of definitions, and the params that are always there."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from calve.workflow.definition.dsl import words
from calve.workflow.definition.incremental import IncrementalTrigger
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.retry import ExponentialBackoff, FixedBackoff, RetryPolicy
from calve.workflow.definition.run_strategy import Rule
from calve.workflow.definition.signals import SignalTrigger
from calve.workflow.definition.steps import FailureMode, ForeachStep, SubworkflowStep, TypedStep, WhileStep
from calve.workflow.definition.triggers import CronTrigger
from calve.workflow.params import ParamMode, ParamType
from calve.workflow.params.defaults import STEP_DEFAULTS, WORKFLOW_DEFAULTS
from calve.workflow.params.model import ParamDefinition
from tools.reference.markdown import code, page, paragraphs, table
from tools.reference.models import fields_table

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
    ("Properties", Properties),
)
_KINDS = {"job": TypedStep, "subworkflow": SubworkflowStep, "foreach": ForeachStep, "while": WhileStep}


def make() -> str:
    """The page."""
    return page("Definitions", _INTRODUCTION, _parts())


def _parts() -> Iterator[str]:
    yield "## Words"
    rows = [
        ["the file", "A workflow, with what starts it and what is told of it.", _listed(words.DOCUMENT)],
        ["`Workflow`", paragraphs(Workflow.__doc__), _listed(words.WORKFLOW)],
    ]
    rows += [["every job", "Has an id, and says what comes after it.", _listed(words.COMMON)]]
    rows += [
        [code(kind), paragraphs(_KINDS[kind].__doc__), _listed(own - words.COMMON)]
        for kind, own in words.JOBS.items()
    ]
    yield table(["place", "", "words"], rows)
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
        yield fields_table(model)
    yield "## Params that are always there"
    yield "Of a workflow:"
    yield _params(WORKFLOW_DEFAULTS.values())
    yield "Of a step:"
    yield _params(STEP_DEFAULTS.values())


def _listed(names: object) -> str:
    assert hasattr(names, "__iter__")
    found = list(names)
    return ", ".join(code(name) for name in (sorted(found) if isinstance(names, frozenset) else found))


def _params(params: object) -> str:
    assert hasattr(params, "__iter__")
    return table(["param", "type", "mode", "expression"], [_param(param) for param in params])


def _param(param: ParamDefinition) -> list[str]:
    mode = param.mode.value.lower() if param.mode is not None else ""
    return [code(param.name), param.type.value, mode, code(param.expression or "")]
