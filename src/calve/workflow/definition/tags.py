"""Tags: names on workflows and steps, that permits and searches go by."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
)

from calve.workflow.definition.base import AnyCase, Many, OpenModel, refuse
from calve.workflow.definition.identifiers import tag_name_fault


class Namespace(StrEnum):
    """Who made a tag."""

    SYSTEM = "SYSTEM"
    RUNTIME = "RUNTIME"
    JOB_TEMPLATE = "JOB_TEMPLATE"
    NOTEBOOK_TEMPLATE = "NOTEBOOK_TEMPLATE"
    USER_DEFINED = "USER_DEFINED"
    PLATFORM = "PLATFORM"


class Tag(OpenModel):
    """A name, and what else is said of it. A tag with nothing but a name is written as a text."""

    name: str
    namespace: Annotated[Namespace, AnyCase] | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if (fault := tag_name_fault(name)) is not None:
            raise refuse("TAG_INVALID", f"'{name}' is not a tag: {fault}")
        return name

    @model_serializer(mode="wrap")
    def _shortest(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.namespace is None and not self.model_extra:
            return self.name
        return handler(self)


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _unique(tags: tuple[Tag, ...]) -> tuple[Tag, ...]:
    names = [tag.name for tag in tags]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refuse("TAG_INVALID", f"the tag '{twice[0]}' is given twice", expected="each tag once")
    return tags


Tags = Annotated[Many[Annotated[Tag, BeforeValidator(_named)]], AfterValidator(_unique)]
