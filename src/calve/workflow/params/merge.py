"""Merging params: later stages change earlier ones, as far as the mode of each param lets them.

Workflow: system defaults → definition → run params; on restart: previous results → run params.
Step: global defaults → defaults of the type → template → injected → definition → run params → restart params.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from calve.errors import UsageError
from calve.workflow.params.kinds import InternalMode, ParamMode, ParamSource, ParamType
from calve.workflow.params.model import ParamDefinition
from calve.workflow.params.values import coerce

Definitions = Mapping[str, ParamDefinition]

_ON_START = frozenset({ParamMode.MUTABLE, ParamMode.MUTABLE_ON_START, ParamMode.MUTABLE_ON_START_RESTART})
_ON_RESTART = frozenset({ParamMode.MUTABLE, ParamMode.MUTABLE_ON_START_RESTART})
_ALLOWED = {ParamSource.OUTPUT_PARAMETER: frozenset({ParamMode.MUTABLE}), ParamSource.RESTART: _ON_RESTART}
_MODE_OF_INTERNAL = {InternalMode.RESERVED: ParamMode.CONSTANT}


@dataclass(frozen=True, slots=True)
class MergeContext:
    """Who merges, and under which circumstances."""

    source: ParamSource
    #: A parent workflow, a loop or a trigger passes params on; it has the say over its children.
    upstream: bool = False
    #: The run is a restart.
    restart: bool = False
    #: The mode of the MAP around; its members are at least as strict.
    parent_mode: ParamMode | None = None

    @property
    def allowed_modes(self) -> frozenset[ParamMode]:
        """The modes that may be changed here."""
        allowed = _ALLOWED.get(self.source, _ON_START)
        return allowed & _ON_RESTART if self.restart else allowed

    def inside(self, mode: ParamMode | None) -> MergeContext:
        """The context for the members of a MAP of that mode."""
        return replace(self, parent_mode=_strictest(self.parent_mode, mode))


def merge_params(
    base: Definitions, changes: Definitions | None, context: MergeContext
) -> dict[str, ParamDefinition]:
    """`base` changed by `changes`: a new mapping, in the order of `base` and then of what is new."""
    merged = dict(base)
    for name, change in (changes or {}).items():
        named = change if change.name == name else replace(change, name=name)
        merged[name] = _merge_one(merged.get(name), named, context)
    return merged


def merge_stages(stages: Iterable[tuple[Definitions | None, MergeContext]]) -> dict[str, ParamDefinition]:
    """All stages merged in order, and cleaned: required params are there, unset optional ones are dropped."""
    merged: dict[str, ParamDefinition] = {}
    for changes, context in stages:
        merged = merge_params(merged, changes, context)
    return clean_params(merged)


def clean_params(params: Definitions) -> dict[str, ParamDefinition]:
    """The params of a schema after the merge: no internal mode is left, nothing required is missing."""
    kept: dict[str, ParamDefinition] = {}
    for name, found in params.items():
        param = found
        members = clean_params(param.members)
        optional = param.internal_mode is InternalMode.OPTIONAL
        is_map = param.type is ParamType.MAP and param.is_literal
        if optional and (not param.is_defined or (is_map and not members)):
            continue
        if not param.is_defined:
            raise UsageError(
                "PARAM_REQUIRED",
                f"param '{name}' ({param.type.value}) is required, and nobody sets it",
                f"Set '{name}' in the definition, or when you start the workflow.",
            )
        if is_map or param.internal_mode is not None:
            param = replace(param, value=members if is_map else param.value, internal_mode=None)
        kept[name] = param
    return kept


def _merge_one(
    base: ParamDefinition | None, change: ParamDefinition, context: MergeContext
) -> ParamDefinition:
    internal = change.internal_mode if base is None or base.internal_mode is None else base.internal_mode
    mode = _mode(base, change, internal, context)
    value = _value(base, change, context)
    if base is None:
        source = context.source
        if context.source.is_system and change.source is not None:
            source = change.source
        return replace(change, value=value, mode=mode, source=source, internal_mode=internal)
    stated = replace(
        change, mode=mode, tags=_tags(base, change), validator=change.validator or base.validator
    )
    changed = differs(base, stated)
    if value is not None and changed:
        value = _cast(base, change, value)
    merged = replace(stated, value=value, type=base.type)
    if not context.source.is_system:
        _check_allowed(base, merged, change, internal, context)
    return replace(merged, source=_source(base, change, changed, context), internal_mode=internal)


def _value(base: ParamDefinition | None, change: ParamDefinition, context: MergeContext) -> Any:
    """The new value; maps are merged by key."""
    if not change.is_literal or change.type not in (ParamType.MAP, ParamType.STRING_MAP):
        return change.value
    if base is None or (base.type is change.type and not base.is_defined):
        before: Mapping[str, Any] = {}
    elif base.type is not change.type or not base.is_literal:
        raise UsageError(
            "PARAM_TYPE",
            f"param '{change.name}' is a {base.type.value} {'' if base.is_literal else 'expression '}"
            f"and cannot be merged with a {change.type.value}",
            "Give it the type and the form that it has in the definition.",
        )
    else:
        before = base.value
    if change.type is ParamType.STRING_MAP:
        return {**before, **change.value}
    return merge_params(before, change.members, context.inside((base or change).mode))


def _cast(base: ParamDefinition, change: ParamDefinition, value: Any) -> Any:
    if base.type is change.type:
        return value
    if ParamType.MAP in (base.type, change.type):
        raise UsageError(
            "PARAM_TYPE",
            f"param '{change.name}' is a {base.type.value}, and a {change.type.value} cannot take its place",
            f"Give it a {base.type.value}.",
        )
    return coerce(change.name, base.type, value)


def _mode(
    base: ParamDefinition | None,
    change: ParamDefinition,
    internal: InternalMode | None,
    context: MergeContext,
) -> ParamMode:
    mode = change.mode or (base.mode if base else None)
    if internal is not None:
        mode = _strictest(mode, _MODE_OF_INTERNAL.get(internal, ParamMode.MUTABLE))
    if context.upstream and base is not None:
        mode = _strictest(mode, base.mode)
    return _strictest(mode or ParamMode.MUTABLE, context.parent_mode) or ParamMode.MUTABLE


def _strictest(one: ParamMode | None, other: ParamMode | None) -> ParamMode | None:
    if one is None or other is None:
        return one or other
    return max(one, other, key=lambda mode: mode.strictness)


def _tags(base: ParamDefinition, change: ParamDefinition) -> tuple[Any, ...]:
    return base.tags + tuple(tag for tag in change.tags if tag not in base.tags)


def differs(base: ParamDefinition, other: ParamDefinition) -> bool:
    """True if the two are not the same param; who set it does not count."""
    return _identity(base) != _identity(other)


def _identity(param: ParamDefinition) -> tuple[Any, ...]:
    value = {name: _identity(item) for name, item in param.members.items()} if param.members else param.value
    return (param.type, value, param.expression, param.mode, param.validator, param.tags)


def _check_allowed(
    base: ParamDefinition,
    merged: ParamDefinition,
    change: ParamDefinition,
    internal: InternalMode | None,
    context: MergeContext,
) -> None:
    passed_on = context.upstream and change.source not in (None, ParamSource.DEFINITION)
    if passed_on or not differs(base, merged):
        return
    assert merged.mode is not None
    if merged.mode not in context.allowed_modes or internal is InternalMode.RESERVED:
        kind = "reserved" if internal is InternalMode.RESERVED else merged.mode.value
        raise _refused(change.name, f"is {kind} and cannot be changed by {context.source.value}")
    if base.mode is not None and merged.mode.strictness < base.mode.strictness:
        raise _refused(change.name, f"is {base.mode.value} and cannot be loosened to {merged.mode.value}")
    if change.internal_mode is not None:
        raise _refused(change.name, "has an internal mode, which only the system sets")


def _source(
    base: ParamDefinition, change: ParamDefinition, changed: bool, context: MergeContext
) -> ParamSource:
    trusted = context.source.is_system or context.upstream
    if not trusted and changed and change.source is not None:
        raise _refused(change.name, "has a source, which only the system sets")
    return base.source if trusted and not changed and base.source is not None else context.source


def _refused(name: str, reason: str) -> UsageError:
    return UsageError(
        "PARAM_MODE",
        f"param '{name}' {reason}",
        "Leave the param out, or change its mode in the definition and push it.",
    )
