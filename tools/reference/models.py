"""Fields of pydantic models as rows: name, type, default and what is said of them."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from calve.workflow.params import ParamDefinition
from tools.reference.markdown import code, table

_FIELD = re.compile(r"^    (\w+)\s*:")
_COMMENT = re.compile(r"^    #:\s?(.*)")
_PLAIN: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    timedelta: "duration",
    Path: "path",
    SecretStr: "secret",
    Any: "anything",
    object: "anything",
    ParamDefinition: "param",
}
#: A map with more fields than that has a table of its own.
_SHOWN_FIELDS = 5
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def fields_table(model: type[BaseModel]) -> str:
    """The fields of a model."""
    return table(["name", "type", "default", ""], list(field_rows(model).values()))


def field_rows(model: type[BaseModel]) -> dict[str, list[str]]:
    """Name, type, default and text of each field."""
    said = comments_of(model)
    return {
        name: [code(name), type_name(field.annotation), default_of(field), said.get(name, "")]
        for name, field in model.model_fields.items()
    }


def model_within(annotation: Any) -> type[BaseModel] | None:
    """The model that a field holds one or several of, if it has few fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation if len(annotation.model_fields) <= _SHOWN_FIELDS else None
    found = (model_within(argument) for argument in typing.get_args(annotation))
    return next((model for model in found if model is not None), None)


def comments_of(model: type[BaseModel]) -> dict[str, str]:
    """What stands in `#:` comments before the fields, those of base classes too."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _comments_in(inspect.getsource(base))
    return found


def _comments_in(source: str) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting: list[str] = []
    for line in source.splitlines():
        if comment := _COMMENT.match(line):
            waiting.append(comment[1])
            continue
        if waiting and (field := _FIELD.match(line)):
            found[field[1]] = " ".join(waiting)
        waiting = []
    return found


def type_name(annotation: Any) -> str:
    """A type in words."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_name(arguments[0])
    if origin in _GENERICS:
        return _GENERICS[origin](arguments)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(code(str(member.value)) for member in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        names = [code(name) for name in annotation.model_fields]
        return f"map: {', '.join(names)}" if len(names) <= _SHOWN_FIELDS else "map"
    return getattr(annotation, "__name__", str(annotation)).lower()


def _one_of(arguments: tuple[Any, ...]) -> str:
    names = [type_name(argument) for argument in arguments if argument is not type(None)]
    if all(name.startswith("map") for name in names) and len(names) > 1:
        return "map"
    return " or ".join(dict.fromkeys(names))


_GENERICS: Mapping[Any, Callable[[tuple[Any, ...]], str]] = {
    typing.Union: _one_of,
    types.UnionType: _one_of,
    typing.Literal: lambda arguments: ", ".join(code(str(argument)) for argument in arguments),
    tuple: lambda arguments: f"list of {type_name(arguments[0])}",
    list: lambda arguments: f"list of {type_name(arguments[0])}",
    dict: lambda arguments: f"map of {type_name(arguments[1])}",
}


def default_of(field: FieldInfo) -> str:
    """The default in words: `required` where there is none, nothing where it is nothing."""
    # A default that is refused is none.
    is_refused = field.validate_default and field.default == () and "MinLen" in repr(field.metadata)
    if field.is_required() or is_refused:
        return "required"
    value = field.default
    if value is PydanticUndefined and field.default_factory is not None:
        value = field.default_factory()  # type: ignore[call-arg]
    return default_text(value)


def default_text(value: Any) -> str:
    """A default as a definition would write it."""
    if value is None or value == () or value == [] or value == {} or isinstance(value, BaseModel):
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, timedelta):
        return code(_duration(value))
    if isinstance(value, Enum):
        return code(str(value.value))
    if isinstance(value, tuple | list):
        return code(f"[{', '.join(str(getattr(item, 'value', item)) for item in value)}]")
    return code(str(value))


def _duration(value: timedelta) -> str:
    seconds = int(value.total_seconds())
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{seconds // size}{unit}"
