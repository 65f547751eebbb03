"""The rules of single fields, as tables."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from pydantic import ValidationError

from calve.workflow.definition.base import RuleError
from calve.workflow.definition.cron import firings, unix_cron, zone
from calve.workflow.definition.durations import duration_ms, timeout_ms
from calve.workflow.definition.identifiers import step_id_fault, workflow_id_fault
from calve.workflow.definition.properties import Properties, User
from calve.workflow.definition.retry import RetryPolicy, RetryRule
from calve.workflow.definition.run_strategy import Rule, RunStrategy
from calve.workflow.definition.signals import SignalDependency, SignalTrigger
from calve.workflow.definition.steps import TypedStep

DAY = 86_400_000


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        (30, 30_000),
        ("30", 30_000),
        ("2h", 7_200_000),
        ("15m", 900_000),
        ("1d 1h 1min 1s 1ms", DAY + 3_600_000 + 60_000 + 1_000 + 1),
        ("1d1h", DAY + 3_600_000),
        ("10 minutes 5 seconds 1 day", DAY + 605_000),
        ("1 Hour", 3_600_000),
        ("500 milliseconds", 500),
        ("120 days", 120 * DAY),
    ],
)
def test_durations(written: int | str, milliseconds: int) -> None:
    assert duration_ms(written) == milliseconds


@pytest.mark.parametrize("written", ["", "abc", "1mm", "1 parsec", "h", "1.5h", "-1h", "1h foo", "1 2"])
def test_what_is_not_a_duration_is_refused(written: str) -> None:
    with pytest.raises(RuleError) as caught:
        duration_ms(written)
    assert caught.value.code == "DURATION_INVALID"


@pytest.mark.parametrize("written", [0, "0", "0s", "121d", 120 * 86_400 + 1])
def test_a_timeout_is_more_than_nothing_and_at_most_120_days(written: int | str) -> None:
    with pytest.raises(RuleError):
        timeout_ms(written)


@pytest.mark.parametrize("value", [True, 1.5, -1, None, "1w", [1]])
def test_a_step_refuses_a_bad_timeout(value: Any) -> None:
    if value is None:
        assert TypedStep(id="a", type="NoOp", timeout=value).timeout is None
        return
    with pytest.raises(ValidationError):
        TypedStep(id="a", type="NoOp", timeout=value)


def test_a_timeout_may_be_left_to_a_param() -> None:
    assert TypedStep(id="a", type="NoOp", timeout="${limit}").timeout == "${limit}"


@pytest.mark.parametrize(
    ("written", "unix"),
    [
        ("*/5 * * * *", "*/5 * * * *"),
        ("* * * * *", "* * * * *"),
        ("0 12 * * MON-FRI", "0 12 * * MON-FRI"),
        ("@daily", "0 0 * * *"),
        ("@HOURLY", "0 * * * *"),
        ("0 0 12 1/1 * ? *", "0 12 1/1 * *"),
        ("0 15 10 ? * 2-6", "15 10 * * 1-5"),
        ("0 0 8 ? * 6L", "0 8 * * 5L"),
        ("0 0 8 ? * 2#1 *", "0 8 * * 1#1"),
        ("0 0 8 ? * MON,WED", "0 8 * * MON,WED"),
        ("0 0 0 L * ?", "0 0 L * *"),
    ],
)
def test_cron_of_unix_and_quartz(written: str, unix: str) -> None:
    assert unix_cron(written) == unix


@pytest.mark.parametrize(
    "written",
    [
        "",
        "* * * *",
        "60 * * * *",
        "0 0 31 2 *",
        "@dayly",
        "@reboot",
        "* * * * * * * *",
        "5 * * * * ?",
        "0 0 0 * * ? 2030",
        "0 0 0 15W * ?",
        "a b c d e",
    ],
)
def test_what_is_not_cron_is_refused(written: str) -> None:
    with pytest.raises(RuleError) as caught:
        unix_cron(written)
    assert caught.value.code == "CRON_INVALID"


def test_cron_keeps_local_time_over_a_change_of_the_clock() -> None:
    start = datetime(2024, 3, 29, 12, tzinfo=UTC)
    found = [
        moment.astimezone(UTC).hour for moment in islice(firings("0 8 * * *", "Europe/Berlin", start), 3)
    ]
    assert found == [7, 6, 6]


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(RuleError) as caught:
        zone("Europe/Brelin")
    assert caught.value.code == "TIMEZONE_UNKNOWN"
    assert "Europe/Berlin" in caught.value.among


@pytest.mark.parametrize(
    ("written", "rule", "concurrency"),
    [
        ("sequential", Rule.SEQUENTIAL, 1),
        ("Strict_Sequential", Rule.STRICT_SEQUENTIAL, 1),
        ("first_only", Rule.FIRST_ONLY, 1),
        ("LAST_ONLY", Rule.LAST_ONLY, 1),
        ("serial_latest_only", Rule.SERIAL_LATEST_ONLY, 1),
        ("parallel", Rule.PARALLEL, 20),
        (5, Rule.PARALLEL, 5),
        ({"rule": "parallel", "workflow_concurrency": 7}, Rule.PARALLEL, 7),
    ],
)
def test_run_strategies(written: Any, rule: Rule, concurrency: int) -> None:
    strategy = Properties(run_strategy=written).run_strategy
    assert strategy == RunStrategy(rule=rule, workflow_concurrency=concurrency)


@pytest.mark.parametrize(
    "written",
    ["both", 0, 1001, {"rule": "first_only", "workflow_concurrency": 2}, {"workflow_concurrency": 2}, []],
)
def test_what_is_not_a_run_strategy_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        Properties(run_strategy=written)


def test_properties_of_a_push_go_over_the_former_ones() -> None:
    former = Properties(owner=User(name="alice"), step_concurrency=5, description="old")
    merged = Properties(description="new").merged_over(former)
    assert merged.to_json() == {"owner": "alice", "step_concurrency": 5, "description": "new"}


def test_retry_defaults_are_maestro_s() -> None:
    rules = RetryPolicy().rules()
    assert (rules.error.limit, rules.platform.limit, rules.timeout.limit) == (2, 10, 0)
    assert [rules.error.delay_s(n) for n in range(5)] == [60, 120, 240, 480, 600]
    assert rules.platform.delay_s(99) == 3_600


def test_retry_values_come_from_numbers_texts_durations_and_params() -> None:
    policy = RetryPolicy.model_validate(
        {
            "error_retry_limit": "${tries}",
            "platform_retry_limit": "3",
            "backoff": {
                "type": "exponential_backoff",
                "error_retry_backoff_in_secs": "1min",
                "error_retry_exponent": 3,
            },
        }
    )
    rules = policy.rules(lambda text: text.replace("${tries}", "7"))
    assert rules.error == RetryRule(limit=7, backoff_s=60, exponent=3, ceiling_s=600)
    assert rules.platform.limit == 3


def test_fixed_backoff_stays_the_same() -> None:
    policy = RetryPolicy.model_validate(
        {"backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 700}}
    )
    assert [policy.rules().error.delay_s(n) for n in range(3)] == [700, 700, 700]
    assert policy.rules().platform.delay_s(5) == 60


@pytest.mark.parametrize(
    "written",
    [
        {"error_retry_limit": 100},
        {"error_retry_limit": "1min"},
        {"error_retry_limit": -1},
        {"backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": 0}},
        {"backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": "2d"}},
        {"backoff": {"type": "FIXED_BACKOFF", "error_retry_exponent": 2}},
        {"backoff": {"type": "LINEAR"}},
        {"backoff": {}},
        {"retries": 3},
    ],
)
def test_what_is_not_a_retry_policy_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        RetryPolicy.model_validate(written)


@pytest.mark.parametrize("name", ["a", "_a", "1a", "a.b-c_d", "A" * 128])
def test_workflow_ids(name: str) -> None:
    assert workflow_id_fault(name) is None


@pytest.mark.parametrize(
    "name", ["", ".a", "-a", "a b", "ä", "A" * 129, "maestro_x", "Maestro_x", "x_maestro", "a/b"]
)
def test_what_is_not_a_workflow_id(name: str) -> None:
    assert workflow_id_fault(name) is not None


@pytest.mark.parametrize("name", ["a", "_a", "job.1", "a-b"])
def test_step_ids(name: str) -> None:
    assert step_id_fault(name) is None


@pytest.mark.parametrize("name", ["", "1a", "a__b", "a b", "maestro_x", "a" * 129])
def test_what_is_not_a_step_id(name: str) -> None:
    assert step_id_fault(name) is not None


@pytest.mark.parametrize(
    "written",
    [
        {"definitions": {}},
        {"definitions": {f"s{n}": {} for n in range(9)}},
        {"definitions": {"a": {"join_keys": ["x"]}, "b": {}}},
        {"definitions": {"a": {"join_keys": ["x"], "match_params": {"x": {"value": 1, "operator": "="}}}}},
        {"definitions": {"a": {"match_params": {"x": {"value": 1.5, "operator": "="}}}}},
        {"definitions": {"a": {"match_params": {"x": {"value": 1, "operator": "!="}}}}},
    ],
)
def test_what_is_not_a_signal_trigger_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        SignalTrigger.model_validate(written)


def test_a_dependency_compares_at_most_one_param_by_order() -> None:
    match = {"param": {"value": 1, "type": "LONG"}, "operator": ">"}
    SignalDependency.model_validate({"name": "s", "match_params": {"a": match}})
    with pytest.raises(ValidationError, match="both compared by order"):
        SignalDependency.model_validate({"name": "s", "match_params": {"a": match, "b": match}})
