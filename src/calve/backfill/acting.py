"""Requests in plain JSON, as the CLI and the REST API give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from calve.backfill.explaining import explain
from calve.backfill.plan import Order, Validation
from calve.backfill.records import Backfill
from calve.backfill.request import ALL, BackfillRequest
from calve.backfill.service import Backfills
from calve.backfill.spark.options import Thresholds
from calve.errors import UsageError

Json = dict[str, Any]


class PlanBody(BaseModel):
    """What to process again."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    workflow_id: str
    lower: str = Field(alias="from", description="The first value of the range.")
    upper: str = Field(alias="to", description="The first value after the range.")
    column: str | None = Field(
        default=None, description="Of the sources; else that of their time partitions."
    )
    chunk: str = Field(default="day", description="day, hour, whole, or files as in 200files.")
    downstream: list[str] = Field(default_factory=lambda: [ALL], description="all, none, or workflows.")
    params: dict[str, str] = Field(default_factory=dict, description="{from} and {to} are filled in.")
    reason: str | None = None
    order: Order = Order.NEWEST_FIRST
    concurrency: int = 2
    on_branch: bool = True
    clear: bool = True
    auto_publish: bool = False
    keys: dict[str, list[str]] = Field(default_factory=dict, description="Key columns by target.")
    audits: dict[str, str] = Field(default_factory=dict, description="SQL by name; true or 0 is fine.")
    thresholds: Json = Field(default_factory=dict)
    samples: int = Field(default=5, ge=0, le=100)

    def to_request(self) -> BackfillRequest:
        """The request that this says."""
        keys = {table: tuple(columns) for table, columns in self.keys.items()}
        return BackfillRequest(
            workflow_id=self.workflow_id,
            lower=self.lower,
            upper=self.upper,
            column=self.column,
            chunk=self.chunk,
            downstream=tuple(self.downstream) or ("none",),
            params=self.params,
            reason=self.reason,
            order=self.order,
            concurrency=self.concurrency,
            on_branch=self.on_branch,
            clear=self.clear,
            validation=Validation(keys, self.audits, _thresholds(self.thresholds), self.samples),
        )


def _thresholds(raw: Json) -> Json:
    """Numbers may come as text. Raises BACKFILL_REQUEST_INVALID."""
    known = [field.name for field in fields(Thresholds)]
    if unknown := sorted(raw.keys() - set(known)):
        raise UsageError(
            "BACKFILL_REQUEST_INVALID",
            f"found the threshold {', '.join(unknown)}",
            f"thresholds are {', '.join(known)}",
        )
    try:
        found = TypeAdapter(Thresholds).validate_python(raw)
    except ValidationError as error:
        raise _invalid(error) from error
    return {name: value for name, value in asdict(found).items() if name in raw}


def _invalid(error: ValidationError) -> UsageError:
    wrong = "; ".join(f"{'.'.join(map(str, x['loc']))}: {x['msg'].lower()}" for x in error.errors())
    return UsageError("BACKFILL_REQUEST_INVALID", wrong, "see `calve backfill plan --help`")


def read_body(raw: Mapping[str, Any]) -> PlanBody:
    """A body, checked. Raises BACKFILL_REQUEST_INVALID with all that is wrong."""
    try:
        return PlanBody.model_validate(raw)
    except ValidationError as error:
        raise _invalid(error) from error


def make_plan(backfills: Backfills, body: PlanBody, author: str) -> Json:
    """Plan, keep and explain."""
    return plan_document(backfills.plan(body.to_request(), author, body.auto_publish))


def plan_document(backfill: Backfill) -> Json:
    """A plan as data, and in words."""
    return {
        "backfill_id": backfill.id,
        "status": backfill.status.value,
        "plan": backfill.plan.to_json(),
        "explanation": explain(backfill.plan),
    }


def act(backfills: Backfills, backfill_id: int, action: str, options: Mapping[str, Any], author: str) -> Json:
    """Do something about a backfill; how it stands then. Raises BACKFILL_ACTION_UNKNOWN."""
    actions: Mapping[str, Callable[[], Any]] = {
        "run": lambda: backfills.start(backfill_id, author, options.get("auto_publish")),
        "pause": lambda: backfills.pause(backfill_id, author),
        "resume": lambda: backfills.resume(backfill_id, author),
        "retry": lambda: backfills.retry(backfill_id, author),
        "cancel": lambda: backfills.cancel(backfill_id, author),
        "discard": lambda: backfills.discard(backfill_id),
        "validate": lambda: backfills.validate_again(backfill_id),
        "publish": lambda: backfills.approve(backfill_id, later_too=bool(options.get("later_too"))),
        "concurrency": lambda: backfills.set_concurrency(backfill_id, _concurrency(options), author),
    }
    if action not in actions:
        raise UsageError(
            "BACKFILL_ACTION_UNKNOWN", f"found the action '{action}'", f"use one of {', '.join(actions)}"
        )
    actions[action]()
    return backfills.status(backfill_id)


def _concurrency(options: Mapping[str, Any]) -> int:
    found = options.get("concurrency")
    if not isinstance(found, int):
        raise UsageError("CONCURRENCY_INVALID", f"found a concurrency of {found}", "give a number")
    return found
