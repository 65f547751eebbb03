"""What a workflow has beside its definition: it changes without a new version."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from calve.workflow.definition.base import Model, OpenModel
from calve.workflow.definition.identifiers import Text
from calve.workflow.definition.run_strategy import Strategy
from calve.workflow.definition.tags import Tags

STEP_CONCURRENCY_LIMIT = 1_000
STEP_CONCURRENCY_DEFAULT = 20


class User(OpenModel):
    """A person or a team. One with nothing but a name is written as a text."""

    name: str = Field(min_length=1)

    @model_serializer(mode="wrap")
    def _shortest(self, handler: SerializerFunctionWrapHandler) -> Any:
        return handler(self) if self.model_extra else self.name


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Properties(Model):
    """The mutable side of a workflow. What is None is left as it was by a push."""

    owner: Annotated[User, BeforeValidator(_named)] | None = None
    access_control: dict[str, Any] | None = None
    run_strategy: Strategy | None = None
    step_concurrency: int | None = Field(default=None, ge=1, le=STEP_CONCURRENCY_LIMIT)
    alerting: dict[str, Any] | None = None
    alerting_disabled: bool | None = None
    signal_trigger_disabled: bool | None = None
    time_trigger_disabled: bool | None = None
    incremental_trigger_disabled: bool | None = None
    description: Text | None = None
    tags: Tags = ()

    def merged_over(self, former: Properties | None) -> Properties:
        """These properties, and the former ones where these say nothing."""
        if former is None:
            return self
        stated = {
            name: value
            for name in type(self).model_fields
            if (value := getattr(self, name)) is not None and value != ()
        }
        return former.model_copy(update=stated)


class GitInfo(Model):
    """Where a definition comes from."""

    origin: str | None = None
    branch: str | None = None
    sha: str | None = None
    path: str | None = None
    author: str | None = None
    timestamp: int | None = None
    uncommitted_changes: bool | None = None
