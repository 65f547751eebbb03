"""`docs/reference/steps.md`: every step type of Calve with its params and what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from calve.steps.contract import StepType
from calve.steps.registry import BUILT_IN, find
from calve.steps.spark_spec import SessionOptions, SparkOptions
from calve.workflow.params import ParamType
from tools.reference.markdown import code, page, paragraphs, table
from tools.reference.models import default_text, field_rows, fields_table, model_within

_INTRODUCTION = (
    "The types that a job may have, with the params that they understand; any other param is the job's own. "
    "What they do is told in [steps](../steps.md), [Spark](../spark.md), "
    "[incremental processing](../incremental.md) and [patterns](../patterns.md)."
)
_HEAD = ["param", "type", "default", ""]
#: Options that a type has from another, and does not take.
_LEFT_OUT = {"Sql": ("file", "main", "args")}
#: What has another text for a type than its options have.
_SAYS = {
    ("Sql", "script"): "SQL, one or many statements.",
    ("Sql", "query"): "Another name for `script`.",
}
_GIVEN = "Given by the step."
_TYPES = {ParamType.STRING: "text", ParamType.LONG: "whole number"}


def make() -> str:
    """The page."""
    return page("Step types", _INTRODUCTION, _parts())


def _parts() -> Iterator[str]:
    for name in BUILT_IN:
        type_ = find(name)
        assert type_ is not None
        yield from _describe(type_)


def _describe(type_: StepType) -> Iterator[str]:
    yield f"## {type_.name}"
    yield paragraphs(type_.__doc__)
    other = _same_as(type_)
    if other is not None:
        yield f"It takes and gives the same params as [{other}](#{other.lower()})."
        return
    if type_.options.section is not None:
        yield f"Its params may stand together in a map {code(type_.options.section)}."
    yield table(_HEAD, _rows(type_)) or "It has no params of its own."
    yield from _describe_maps(type_)
    if _is_about_spark(type_):
        names = ", ".join(code(name) for name in SessionOptions.model_fields)
        yield f"Where it runs is said as in [Spark](#spark): {names}."
    if type_.options.other_names:
        pairs = [f"{code(other)} is {code(name)}" for other, name in type_.options.other_names.items()]
        yield f"Other names: {', '.join(pairs)}."
    outputs = getattr(type_, "outputs", ())
    if outputs:
        yield f"It gives the params {', '.join(code(name) for name in sorted(outputs))}."


def _same_as(type_: StepType) -> str | None:
    """A type before it that has the same options."""
    before = takewhile(lambda name: name != type_.name, BUILT_IN)
    for name in before:
        other = find(name)
        if other is not None and other.options is type_.options and type_.options.model_fields:
            return name
    return None


def _is_about_spark(type_: StepType) -> bool:
    """Whether its params say in which Spark it runs; those of Spark itself are told in full."""
    return issubclass(type_.options, SessionOptions) and type_.options is not SparkOptions


def _rows(type_: StepType) -> list[list[str]]:
    rows = field_rows(type_.options)
    for name, param in type_.schema.items():
        if name not in rows:
            rows[name] = [code(name), _TYPES[param.type], default_text(param.value), _GIVEN]
        rows[name][-1] = _SAYS.get((type_.name, name), rows[name][-1])
    left_out = {*_LEFT_OUT.get(type_.name, ())}
    if _is_about_spark(type_):
        left_out |= set(SessionOptions.model_fields)
    return [row for name, row in rows.items() if name not in left_out]


def _describe_maps(type_: StepType) -> Iterator[str]:
    """What stands in the maps among its params."""
    for name, field in type_.options.model_fields.items():
        model = model_within(field.annotation)
        if model is not None:
            yield f"In a map of {code(name)}:"
            yield fields_table(model)
