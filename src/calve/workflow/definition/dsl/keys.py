"""The key of a param: `["!"] name ["<" type ">"] ["(" mode ")"]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from calve.workflow.definition.base import refuse
from calve.workflow.definition.dsl.words import ARRAY_TYPES, MAP_TYPES
from calve.workflow.params.model import ParamMode, ParamType

_KEY = re.compile(r"(!?)\s*([^<(]*?)\s*(?:<(.*)>)?\s*(?:\(([^()]*)\))?\s*", re.DOTALL)
_SPACES = re.compile(r"\s+")
_TYPES: dict[str, ParamType] = {
    written: ParamType[name] for name, written in (ARRAY_TYPES | MAP_TYPES).items()
} | {
    # `map` is a map of texts and `pmap` a map of params, whatever the names of the types say.
    type_.value.lower(): type_
    for type_ in ParamType
    if type_ is not ParamType.MAP
}
KEY_FORM = "name, !name, name<type> or name<type>(mode)"


@dataclass(frozen=True, slots=True)
class ParamKey:
    """What the key of a param says."""

    name: str
    is_expression: bool
    type: ParamType | None
    mode: ParamMode | None


def parse_key(text: str) -> ParamKey:
    """The parts of a key; PARAM_KEY if it has not the form."""
    found = _KEY.fullmatch(text.strip())
    if found is None or not found[2]:
        raise refuse("PARAM_KEY", f"'{text}' is not the key of a param", expected=KEY_FORM)
    bang, name, type_, mode = found.groups()
    return ParamKey(
        name=name,
        is_expression=bool(bang),
        type=None if type_ is None else parse_type(type_),
        mode=None if mode is None else _mode(mode.strip()),
    )


def parse_type(text: str) -> ParamType:
    """The type of that name; PARAM_TYPE_UNKNOWN if there is none."""
    found = _TYPES.get(_SPACES.sub("", text).lower())
    if found is None:
        raise refuse(
            "PARAM_TYPE_UNKNOWN",
            f"'{text}' is not a type",
            expected="one of " + ", ".join(sorted(_TYPES)),
            among=tuple(_TYPES),
            found=text,
        )
    return found


def write_key(name: str, is_expression: bool, type_: ParamType | None, mode: ParamMode | None) -> str:
    """The key that `parse_key` reads as this."""
    written = "" if type_ is None else f"<{type_name(type_)}>"
    return (
        ("!" if is_expression else "") + name + written + ("" if mode is None else f"({mode.value.lower()})")
    )


def type_name(type_: ParamType) -> str:
    """How a type is written in a key."""
    return (ARRAY_TYPES | MAP_TYPES).get(type_.value, type_.value.lower())


def _mode(text: str) -> ParamMode:
    found = ParamMode.__members__.get(text.upper())
    if found is None:
        names = tuple(name.lower() for name in ParamMode.__members__)
        raise refuse(
            "PARAM_MODE_UNKNOWN",
            f"'{text}' is not a mode",
            expected="one of " + ", ".join(names),
            among=names,
            found=text,
        )
    return found
