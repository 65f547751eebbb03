"""What a script may ask of its step, as far as no Spark is needed for it."""

from __future__ import annotations

from typing import Any

import pytest

import calve.spark
from calve.errors import UsageError
from calve.spark.user import StepScope, enter_step

NOTHING: Any = None


def refusal(*args: Any, **more: Any) -> str:
    with pytest.raises(UsageError) as refused:
        StepScope(NOTHING, {}).write_once(*args, **more)
    return refused.value.code


def test_outside_of_a_step_there_is_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calve.spark.user._current", [])
    with pytest.raises(UsageError) as refused:
        calve.spark.step_context()
    assert refused.value.code == "STEP_CONTEXT_MISSING"
    step = StepScope(NOTHING, {"day": "2024-01-01"})
    enter_step(step)
    assert calve.spark.step_context() is step
    assert calve.spark.step_context().params["day"] == "2024-01-01"


def test_a_wrong_write_is_refused_before_spark_is_asked() -> None:
    assert refusal(NOTHING, "lake.db.t", "upsert") == "WRITE_ONCE_INVALID"
    assert refusal(NOTHING, "lake.db.t", "merge") == "WRITE_ONCE_INVALID"
    assert refusal(NOTHING, "lake.db.t", keys=["k"]) == "WRITE_ONCE_INVALID"
    assert refusal(NOTHING, "lake.db.t", name="1") == "WRITE_ONCE_INVALID"
    with pytest.raises(UsageError):
        StepScope(NOTHING, {}).sql_once("SELECT 1")


def test_the_changed_table_is_told_where_there_is_one() -> None:
    assert StepScope(NOTHING, {}, {"capture": {"icdc_table": "lake.icdc.t"}}).icdc_table == "lake.icdc.t"
    others: list[dict[str, dict[str, Any]]] = [
        {},
        {"a": {"icdc_table": "x"}, "b": {"icdc_table": "y"}},
        {"a": {"sources": []}},
    ]
    for captures in others:
        with pytest.raises(UsageError) as refused:
            _ = StepScope(NOTHING, {}, captures).icdc_table
        assert refused.value.code == "CAPTURE_NOT_ONE"


def test_names_of_the_package_are_imported_when_asked_for() -> None:
    assert calve.spark.StepScope is StepScope
    with pytest.raises(AttributeError):
        _ = calve.spark.nothing
