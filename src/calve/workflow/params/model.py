"""The definition of a parameter: a frozen value, and its way to and from Maestro's JSON.

    {"value" | "expression", "type", "mode"?, "validator"?, "tags"?, "internal_mode"?, "source"?, …}

The name is the key that the JSON stands under. Keys that are not listed are kept in `meta`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calve.errors import UsageError
from calve.workflow.params.kinds import InternalMode, ParamMode, ParamSource, ParamType
from calve.workflow.params.values import coerce, infer_type, show

__all__ = [
    "InternalMode",
    "ParamDefinition",
    "ParamMode",
    "ParamSource",
    "ParamType",
    "infer_type",
    "params_from_json",
    "params_to_json",
]

_KNOWN_KEYS = frozenset(
    {"name", "value", "expression", "type", "mode", "validator", "tags", "internal_mode", "source"}
)


@dataclass(frozen=True, kw_only=True)
class ParamDefinition:
    """A typed parameter: a literal `value`, or a SEL `expression`, never both.

    `value` is a plain value of the type; for MAP it is a mapping of names to definitions. Neither is set
    only in the schema of a step type (`internal_mode`), where somebody else has to give it.
    """

    name: str
    type: ParamType
    value: Any = None
    expression: str | None = None
    #: None: not stated, which acts as MUTABLE and takes over the mode of what it is merged into.
    mode: ParamMode | None = None
    internal_mode: InternalMode | None = None
    source: ParamSource | None = None
    #: Kept as written; no rule is enforced.
    validator: str | None = None
    #: Names, or objects with a name, as in any other tag list.
    tags: tuple[Any, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.value is not None and self.expression is not None:
            raise _not_one(self.name, "both a value and an expression")
        if self.value is None and self.expression is None and self.internal_mode is None:
            raise _not_one(self.name, "neither a value nor an expression")
        if self.value is not None:
            object.__setattr__(self, "value", _checked_literal(self.name, self.type, self.value))

    @property
    def is_literal(self) -> bool:
        """True for a value, false for an expression or for a value that is yet to be given."""
        return self.value is not None

    @property
    def is_defined(self) -> bool:
        """True if there is a value or an expression to evaluate."""
        return self.value is not None or self.expression is not None

    @property
    def members(self) -> Mapping[str, ParamDefinition]:
        """The definitions inside a MAP literal; empty for anything else."""
        return self.value if self.type is ParamType.MAP and self.value is not None else {}

    @classmethod
    def infer(
        cls, name: str, value: object, *, type: ParamType | None = None, mode: ParamMode | None = None
    ) -> ParamDefinition:
        """A literal whose type is that of its value; a stated `type` must equal it.

        The one exception is MAP over a map of strings only: its members become STRING params.
        """
        inferred = infer_type(value)
        wanted = type or inferred
        if wanted is not inferred and (wanted, inferred) != (ParamType.MAP, ParamType.STRING_MAP):
            raise UsageError(
                "PARAM_TYPE",
                f"param '{name}' is declared {wanted.value}, and {show(value)} is a {inferred.value}",
                f"Declare it {inferred.value}, or write a value of type {wanted.value}.",
            )
        if wanted is ParamType.MAP and isinstance(value, Mapping):
            value = {str(key): cls.infer(str(key), item) for key, item in value.items()}
        return cls(name=name, type=wanted, value=value, mode=mode)

    @classmethod
    def from_json(cls, name: str, document: object) -> ParamDefinition:
        """The definition that `document` describes, in Maestro's form."""
        if not isinstance(document, Mapping):
            raise UsageError(
                "PARAM_INVALID",
                f"param '{name}' is {show(document)}, not an object",
                'Write it as {"value": …, "type": …} or {"expression": …, "type": …}.',
            )
        type_ = ParamType.parse(_text(name, document, "type") or "")
        value = document.get("value")
        if type_ is ParamType.MAP and isinstance(value, Mapping):
            value = params_from_json(value)
        mode, internal_mode, source = (
            _text(name, document, key) for key in ("mode", "internal_mode", "source")
        )
        return cls(
            name=name,
            type=type_,
            value=value,
            expression=_text(name, document, "expression"),
            mode=None if mode is None else ParamMode.parse(mode),
            internal_mode=None if internal_mode is None else InternalMode.parse(internal_mode),
            source=None if source is None else ParamSource.parse(source),
            validator=_text(name, document, "validator"),
            tags=_tags(name, document),
            meta={key: item for key, item in document.items() if key not in _KNOWN_KEYS},
        )

    def to_json(self) -> dict[str, Any]:
        """The definition in Maestro's form; what is not set is left out."""
        value = params_to_json(self.members) if self.type is ParamType.MAP and self.is_literal else self.value
        stated: dict[str, Any] = {
            "value": value,
            "expression": self.expression,
            "type": self.type.value,
            "validator": self.validator,
            "tags": list(self.tags) or None,
            "mode": self.mode and self.mode.value,
            "internal_mode": self.internal_mode and self.internal_mode.value,
            "source": self.source and self.source.value,
        }
        return {key: item for key, item in stated.items() if item is not None} | dict(self.meta)

    def with_value(self, value: object) -> ParamDefinition:
        """The same parameter as a literal of `value`."""
        return replace(self, value=value, expression=None)


def params_from_json(document: object) -> dict[str, ParamDefinition]:
    """The definitions of a `params` object, in its order."""
    if not isinstance(document, Mapping):
        raise UsageError(
            "PARAM_INVALID",
            f"params is {show(document)}, not an object",
            'Write {"name": {"value": …, "type": …}}.',
        )
    return {str(name): ParamDefinition.from_json(str(name), item) for name, item in document.items()}


def params_to_json(params: Mapping[str, ParamDefinition]) -> dict[str, Any]:
    """A `params` object in Maestro's form."""
    return {name: param.to_json() for name, param in params.items()}


def _checked_literal(name: str, type_: ParamType, value: object) -> Any:
    if type_ is not ParamType.MAP:
        return coerce(name, type_, value)
    if not isinstance(value, Mapping):
        raise UsageError(
            "PARAM_TYPE",
            f"param '{name}' is declared MAP, and {show(value)} is not a map",
            "Write a map of params.",
        )
    return {key: _member(key, item) for key, item in value.items()}


def _member(name: str, item: object) -> ParamDefinition:
    if isinstance(item, ParamDefinition):
        return item if item.name == name else replace(item, name=name)
    return ParamDefinition.infer(name, item)


def _text(name: str, document: Mapping[str, Any], key: str) -> str | None:
    found = document.get(key)
    if found is None or isinstance(found, str):
        return found
    raise UsageError(
        "PARAM_INVALID", f"'{key}' of param '{name}' is {show(found)}, not a string", "Quote it."
    )


def _tags(name: str, document: Mapping[str, Any]) -> tuple[Any, ...]:
    found = document.get("tags")
    if found is None:
        return ()
    if isinstance(found, list | tuple) and all(isinstance(tag, str | Mapping) for tag in found):
        return tuple(found)
    raise UsageError(
        "PARAM_INVALID", f"'tags' of param '{name}' is {show(found)}, not a list of tags", "Write [name, …]."
    )


def _not_one(name: str, found: str) -> UsageError:
    return UsageError(
        "PARAM_INVALID",
        f"param '{name}' has {found}",
        "Give exactly one: a literal value, or a SEL expression.",
    )
