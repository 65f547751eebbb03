"""`docs/reference/steps.md`: every step type of Calve with its params and what it gives."""

from __future__ import annotations

from collections.abc import Iterator

from calve.steps.contract import StepType
from calve.steps.registry import BUILT_IN, find
from tools.reference.markdown import code, page, paragraphs, table
from tools.reference.models import comments_of, default_of, default_text, type_name

_INTRODUCTION = (
    "The types that a job may have, with the params that they understand; any other param is the job's own. "
    "What they do is told in [steps](../steps.md), [Spark](../spark.md), "
    "[incremental processing](../incremental.md) and [patterns](../patterns.md)."
)


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
    if type_.options.section is not None:
        yield f"Its params may stand together in a map {code(type_.options.section)}."
    yield table(["param", "type", "default", ""], _rows(type_)) or "It has no params of its own."
    if type_.options.other_names:
        pairs = [f"{code(other)} is {code(name)}" for other, name in type_.options.other_names.items()]
        yield f"Other names: {', '.join(pairs)}."
    outputs = getattr(type_, "outputs", ())
    if outputs:
        yield f"It gives the params {', '.join(code(name) for name in sorted(outputs))}."


def _rows(type_: StepType) -> list[list[str]]:
    says = comments_of(type_.options)
    rows = {
        name: [code(name), type_name(field.annotation), default_of(field), says.get(name, "")]
        for name, field in type_.options.model_fields.items()
    }
    for name, param in type_.schema.items():
        stated = param.type.value.lower().replace("_", " ")
        given = "given by the step" if param.is_defined else ""
        rows.setdefault(name, [code(name), stated, default_text(param.value), given])
    return list(rows.values())
