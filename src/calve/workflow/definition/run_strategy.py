"""What happens when a workflow starts while instances of it are still running."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from calve.workflow.definition.base import AnyCase, Model, refuse

PARALLEL_DEFAULT = 20
CONCURRENCY_LIMIT = 1_000


class Rule(StrEnum):
    """The six ways to treat instances that would overlap."""

    #: One at a time, in the order of their creation; a failure does not block.
    SEQUENTIAL = "SEQUENTIAL"
    #: As SEQUENTIAL, but a failed instance blocks until it is restarted to success or unblocked.
    STRICT_SEQUENTIAL = "STRICT_SEQUENTIAL"
    #: A new instance is stopped at once if there is one that has not ended.
    FIRST_ONLY = "FIRST_ONLY"
    #: A new instance stops the queued ones and the running one, then runs.
    LAST_ONLY = "LAST_ONLY"
    #: Up to `workflow_concurrency` at a time.
    PARALLEL = "PARALLEL"
    #: The running one finishes; of the queued ones only the newest survives.
    SERIAL_LATEST_ONLY = "SERIAL_LATEST_ONLY"


class RunStrategy(Model):
    """A rule, and how many instances may run at a time; only PARALLEL allows more than one."""

    rule: Annotated[Rule, AnyCase]
    workflow_concurrency: int = Field(ge=1, le=CONCURRENCY_LIMIT)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("workflow_concurrency") is not None:
            return value
        is_parallel = str(value.get("rule")).upper() == Rule.PARALLEL
        return {**value, "workflow_concurrency": PARALLEL_DEFAULT if is_parallel else 1}

    @model_validator(mode="after")
    def _only_parallel(self) -> RunStrategy:
        if self.workflow_concurrency > 1 and self.rule is not Rule.PARALLEL:
            raise refuse(
                "RUN_STRATEGY_INVALID",
                f"{self.rule.lower()} runs one at a time, not {self.workflow_concurrency}",
                expected="run_strategy: parallel, or workflow_concurrency: 1",
            )
        return self


SEQUENTIAL = RunStrategy(rule=Rule.SEQUENTIAL, workflow_concurrency=1)


def _spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return {"rule": value}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"rule": Rule.PARALLEL, "workflow_concurrency": value}
    return value


#: A rule by its name, a number (so many in parallel), or the whole object.
Strategy = Annotated[RunStrategy, BeforeValidator(_spelled_out)]
