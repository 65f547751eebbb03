"""How often a step is tried again, and how long it waits before: per kind of failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Tag

from calve.workflow.definition.base import AnyCase, Model
from calve.workflow.definition.durations import Parsable, needs_params, seconds, whole_number

RETRY_LIMIT = 99
BACKOFF_LIMIT_S = 86_400
EXPONENT_LIMIT = 2**31 - 1
EXPONENTIAL = "EXPONENTIAL_BACKOFF"
FIXED = "FIXED_BACKOFF"

Value = int | str


def _count(value: Value) -> Value:
    if not needs_params(value):
        whole_number(value, 0, RETRY_LIMIT)
    return value


def _exponent(value: Value) -> Value:
    if not needs_params(value):
        whole_number(value, 0, EXPONENT_LIMIT)
    return value


def _wait(value: Value) -> Value:
    if not needs_params(value):
        seconds(value, 1, BACKOFF_LIMIT_S)
    return value


Count = Annotated[Parsable, AfterValidator(_count)]
Exponent = Annotated[Parsable, AfterValidator(_exponent)]
Wait = Annotated[Parsable, AfterValidator(_wait)]


class ExponentialBackoff(Model):
    """A wait that grows: backoff · exponent^retries, at most the limit."""

    #: What tells it from the other kind.
    type: Annotated[Literal["EXPONENTIAL_BACKOFF"], AnyCase]
    #: When the job failed: the first wait, in seconds. If it is not set, 60.
    error_retry_backoff_in_secs: Wait | None = None
    #: When the job failed: by how much the wait grows each time. If it is not set, 2.
    error_retry_exponent: Exponent | None = None
    #: When the job failed: the longest wait, in seconds. If it is not set, 600.
    error_retry_limit_in_secs: Wait | None = None
    #: When what runs the job failed: the first wait, in seconds. If it is not set, 60.
    platform_retry_backoff_in_secs: Wait | None = None
    #: When what runs the job failed: by how much the wait grows each time. If it is not set, 2.
    platform_retry_exponent: Exponent | None = None
    #: When what runs the job failed: the longest wait, in seconds. If it is not set, 3600.
    platform_retry_limit_in_secs: Wait | None = None
    #: When the job took longer than its `timeout`: the first wait, in seconds. If it is not set, 60.
    timeout_retry_backoff_in_secs: Wait | None = None
    #: When the job took longer than its `timeout`: by how much the wait grows each time. If it is not set, 2.
    timeout_retry_exponent: Exponent | None = None
    #: When the job took longer than its `timeout`: the longest wait, in seconds. If it is not set, 3600.
    timeout_retry_limit_in_secs: Wait | None = None


class FixedBackoff(Model):
    """The same wait every time."""

    #: What tells it from the other kind.
    type: Annotated[Literal["FIXED_BACKOFF"], AnyCase]
    #: When the job failed: the wait, in seconds. If it is not set, 60.
    error_retry_backoff_in_secs: Wait | None = None
    #: When what runs the job failed: the wait, in seconds. If it is not set, 60.
    platform_retry_backoff_in_secs: Wait | None = None
    #: When the job took longer than its `timeout`: the wait, in seconds. If it is not set, 60.
    timeout_retry_backoff_in_secs: Wait | None = None


def _backoff_type(value: Any) -> str | None:
    found = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return found.upper() if isinstance(found, str) else None


Backoff = Annotated[
    Annotated[ExponentialBackoff, Tag(EXPONENTIAL)] | Annotated[FixedBackoff, Tag(FIXED)],
    Discriminator(_backoff_type),
]


@dataclass(frozen=True, slots=True)
class RetryRule:
    """The numbers for one kind of failure."""

    limit: int
    backoff_s: int
    exponent: int
    ceiling_s: int

    def delay_s(self, retries: int) -> int:
        """How long to wait after so many retries."""
        wait: int = self.backoff_s * self.exponent ** min(retries, RETRY_LIMIT)
        return min(wait, self.ceiling_s)


@dataclass(frozen=True, slots=True)
class RetryRules:
    """The rules for the three kinds of failure."""

    error: RetryRule
    platform: RetryRule
    timeout: RetryRule


DEFAULT_RULES = RetryRules(
    error=RetryRule(limit=2, backoff_s=60, exponent=2, ceiling_s=600),
    platform=RetryRule(limit=10, backoff_s=60, exponent=2, ceiling_s=3_600),
    timeout=RetryRule(limit=0, backoff_s=60, exponent=2, ceiling_s=3_600),
)


class RetryPolicy(Model):
    """The policy as it is written: what is not set is the default, texts may name params."""

    #: How often a job is tried again that failed. If it is not set, 2.
    error_retry_limit: Count | None = None
    #: How often it is tried again if what runs it failed: a process that was killed, a server that is gone.
    #: If it is not set, 10.
    platform_retry_limit: Count | None = None
    #: How often it is tried again if it took longer than its `timeout`. If it is not set, 0.
    timeout_retry_limit: Count | None = None
    #: How long it waits before; one of the two kinds below.
    backoff: Backoff | None = None

    def rules(self, interpolate: Callable[[str], str] = str) -> RetryRules:
        """The policy as numbers, with defaults filled in; `interpolate` puts values for params."""
        return RetryRules(
            error=self._rule("error", DEFAULT_RULES.error, interpolate),
            platform=self._rule("platform", DEFAULT_RULES.platform, interpolate),
            timeout=self._rule("timeout", DEFAULT_RULES.timeout, interpolate),
        )

    def _rule(self, kind: str, default: RetryRule, interpolate: Callable[[str], str]) -> RetryRule:
        def known(part: object, name: str) -> Value | None:
            stated = getattr(part, f"{kind}_retry_{name}", None)
            return interpolate(stated) if isinstance(stated, str) else stated

        limit = known(self, "limit")
        wait = known(self.backoff, "backoff_in_secs")
        exponent = known(self.backoff, "exponent")
        ceiling = known(self.backoff, "limit_in_secs")
        is_fixed = isinstance(self.backoff, FixedBackoff)
        backoff_s = default.backoff_s if wait is None else seconds(wait, 1, BACKOFF_LIMIT_S)
        return RetryRule(
            limit=default.limit if limit is None else whole_number(limit, 0, RETRY_LIMIT),
            backoff_s=backoff_s,
            exponent=1 if is_fixed else _or_default(exponent, default.exponent),
            ceiling_s=backoff_s
            if is_fixed
            else default.ceiling_s
            if ceiling is None
            else seconds(ceiling, 1, BACKOFF_LIMIT_S),
        )


def _or_default(exponent: Value | None, default: int) -> int:
    return default if exponent is None else whole_number(exponent, 0, EXPONENT_LIMIT)
