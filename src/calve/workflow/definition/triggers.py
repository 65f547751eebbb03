"""What starts a workflow by itself: the time, signals, changes of tables."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Tag, field_validator

from calve.workflow.definition.base import AnyCase, Model
from calve.workflow.definition.cron import PREDEFINED, unix_cron, zone
from calve.workflow.definition.durations import Timeout


def _check_zone(name: str) -> str:
    if name:
        zone(name)
    return name


def _check_cron(expression: str) -> str:
    unix_cron(expression)
    return expression


Timezone = Annotated[str, AfterValidator(_check_zone)]


class CronTrigger(Model):
    """Fires by a cron expression, in UTC unless a time zone is given."""

    #: What tells it from other time triggers; in YAML, `cron` says it.
    type: Annotated[Literal["CRON"], AnyCase]
    #: Five fields, six or seven as Quartz has them, or a name such as `@daily`.
    cron: Annotated[str, AfterValidator(_check_cron)]
    #: A name of the IANA list, such as `Europe/Berlin`.
    timezone: Timezone | None = None
    #: Firings are delayed by up to so much, always the same for one workflow.
    fuzzy_max_delay: Timeout | None = None

    @property
    def expression(self) -> str:
        """The expression as cronsim reads it."""
        return unix_cron(self.cron)


class PredefinedTrigger(Model):
    """Fires by a schedule that has a name: `@daily` and its like."""

    type: Annotated[Literal["PREDEFINED"], AnyCase]
    expression: str
    timezone: Timezone | None = None
    fuzzy_max_delay: Timeout | None = None

    @field_validator("expression")
    @classmethod
    def _known(cls, value: str) -> str:
        name = (value if value.startswith("@") else f"@{value}").lower()
        unix_cron(name)
        return name

    @property
    def cron(self) -> str:
        """The expression as cronsim reads it."""
        return PREDEFINED[self.expression]


class IntervalTrigger(Model):
    """Accepted as Maestro accepts it, and, as there, never fires."""

    type: Annotated[Literal["INTERVAL"], AnyCase]
    interval: str
    start: str | None = None
    fuzzy_max_delay: Timeout | None = None


def _type(value: Any) -> str | None:
    found = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return found.upper() if isinstance(found, str) else None


TimeTrigger = Annotated[
    Annotated[CronTrigger, Tag("CRON")]
    | Annotated[PredefinedTrigger, Tag("PREDEFINED")]
    | Annotated[IntervalTrigger, Tag("INTERVAL")],
    Discriminator(_type),
]
