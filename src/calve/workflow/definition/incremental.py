"""The trigger that starts a workflow when its source tables have changed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from calve.workflow.definition.base import Many, Model, Some, refuse
from calve.workflow.definition.durations import Parsable, needs_params, timeout_ms

TABLES = "tables"
#: The name that a capture step has for the same thing.
OTHER_NAME = "source_tables"


class DataOperation(StrEnum):
    """What a snapshot may have done to rows."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    DELETE = "delete"


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _check_fixed(value: int | str) -> int | str:
    if needs_params(value):
        raise refuse("DURATION_INVALID", f"'{value}' needs params", expected="a duration: a trigger has none")
    timeout_ms(value)
    return value


#: More than 0 and at most 120 days, known when it is written.
FixedDuration = Annotated[Parsable, AfterValidator(_check_fixed)]
Count = Annotated[int, Field(strict=True, ge=1)]
TableText = Annotated[str, Field(strict=True, min_length=1)]


class IncrementalTrigger(Model):
    """Starts a workflow when there is something to process in its tables."""

    #: The tables to look at. If it is not set, the sources of the workflow's own capture steps.
    tables: Some[TableText] | None = None
    #: A duration, such as `15m`: two starts are so far apart at least.
    every: FixedDuration | None = None
    #: It starts when so many files are waiting. Any one of the three is enough; without all of them, anything
    #: is.
    min_files: Count | None = None
    #: It starts when so many rows are waiting.
    min_rows: Count | None = None
    #: It starts when so many bytes are waiting.
    min_bytes: Count | None = None
    #: A duration: a change waits no longer than this for others, however little there is.
    max_delay: FixedDuration | None = None
    #: The changes that count. Empty: those that the capture step takes, or all where there is none.
    data_operations: Many[Annotated[DataOperation, BeforeValidator(_lower)]] = ()

    @model_validator(mode="before")
    @classmethod
    def _one_name(cls, value: Any) -> Any:
        if not isinstance(value, dict) or OTHER_NAME not in value:
            return value
        if value.get(TABLES) is not None:
            raise refuse(
                "KEY_DUPLICATE", f"'{TABLES}' and '{OTHER_NAME}' mean the same", expected="one of them"
            )
        return {TABLES if key == OTHER_NAME else key: item for key, item in value.items() if key != TABLES}

    @property
    def every_ms(self) -> int | None:
        """`every` in milliseconds."""
        return None if self.every is None else timeout_ms(self.every)

    @property
    def max_delay_ms(self) -> int | None:
        """`max_delay` in milliseconds."""
        return None if self.max_delay is None else timeout_ms(self.max_delay)

    @property
    def patience_ms(self) -> int:
        """How long the trigger itself may let a change wait, in milliseconds."""
        return max(self.every_ms or 0, self.max_delay_ms or 0)

    @property
    def has_thresholds(self) -> bool:
        """Whether a change may be too little for a start."""
        return any(least is not None for least in (self.min_files, self.min_rows, self.min_bytes))
