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

    #: A person or a team, by name.
    owner: Annotated[User, BeforeValidator(_named)] | None = None
    #: Kept for programs; Calve itself does not look at it.
    access_control: dict[str, Any] | None = None
    #: Which instances run when they would overlap.
    run_strategy: Strategy | None = None
    #: How many steps of the workflow run at the same time, in all its instances.
    step_concurrency: int | None = Field(default=None, ge=1, le=STEP_CONCURRENCY_LIMIT)
    #: Kept for programs; Calve itself does not look at it.
    alerting: dict[str, Any] | None = None
    #: Kept for programs; Calve itself does not look at it.
    alerting_disabled: bool | None = None
    #: True: signal triggers rest.
    signal_trigger_disabled: bool | None = None
    #: True: time triggers rest.
    time_trigger_disabled: bool | None = None
    #: True: incremental triggers rest.
    incremental_trigger_disabled: bool | None = None
    #: What the workflow is for.
    description: Text | None = None
    #: Words to find it by.
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
