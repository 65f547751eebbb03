"""Thresholds and the report of a validation, without Spark."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.backfill.spark.literals import literal
from calve.backfill.spark.options import AuditQuery, CompareOptions, Grouping, Thresholds
from calve.backfill.spark.report import (
    AuditResult,
    ChangedRow,
    Group,
    Moves,
    Report,
    Samples,
    SchemaChange,
    Side,
)
from calve.backfill.spark.thresholds import find_failures
from calve.errors import UsageError

counts = st.integers(0, 50)


@given(main=counts, branch=counts, removed=counts, changed=counts, limit=counts, share=st.floats(0, 2))
def test_a_limit_fails_exactly_what_is_over_it(
    main: int, branch: int, removed: int, changed: int, limit: int, share: float
) -> None:
    total = Group({}, Side(main), Side(branch), Moves(removed=removed, changed=changed))
    limits = Thresholds(max_removed_rows=limit, max_changed_share=share, max_row_count_change=share)
    for has_keys in (True, False):
        failures = find_failures(limits, total, (), (), has_keys=has_keys)
        moved = changed if has_keys else removed
        expected = [
            name
            for name, is_over in (
                ("max_removed_rows", removed > limit),
                ("max_changed_share", moved > share * main),
                ("max_row_count_change", abs(main - branch) > share * main),
            )
            if is_over
        ]
        assert [failure.split(":")[0] for failure in failures] == expected
    assert find_failures(Thresholds(), total, (), (), has_keys=True) == ()


def test_schema_changes_fail_unless_they_are_allowed() -> None:
    total = Group({}, Side(), Side(), Moves())
    change = (SchemaChange("c", "int", None),)
    assert len(find_failures(Thresholds(), total, change, (), has_keys=True)) == 1
    allowed = Thresholds(require_no_schema_change=False)
    assert find_failures(allowed, total, change, (), has_keys=True) == ()


def test_a_report_survives_json_and_tells_all_as_markdown() -> None:
    side = Side(3, {"amount": 1.5}, {"amount": 0, "a|b": 1})
    group = Group(
        {"day": "2024-01-02"}, side, Side(2, {"amount": 2}, {"amount": 1, "a|b": 1}), Moves(1, 2, 1)
    )
    report = Report(
        table="lake.db.t",
        branch="backfill_7",
        main_snapshot_id=1,
        branch_snapshot_id=2,
        group_by="partition",
        keys=("id",),
        total=group,
        groups=(group,) * 60,
        groups_not_shown=5,
        samples=Samples(
            ({"id": 1, "v": "a|b"},),
            ({"id": 2, "v": None},),
            (ChangedRow({"id": 3}, {"v": ("x", "y" * 99)}),),
        ),
        schema_changes=(SchemaChange("c", None, "int"),),
        audits=(
            AuditResult("none lost", passed=False, value=3),
            AuditResult("odd", passed=False, problem="no"),
        ),
        failures=("audit none lost: gave 3",),
    )
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report
    assert report.to_json()["passed"] is False
    text = report.to_markdown()
    for line in (
        "**Failed**, 1 found:",
        "| day=2024-01-02 | 3 | 2 | 1 | 2 | 1 |",
        "15 more are not shown.",
        "| amount | 1.5 | 2 | 0 | 1 |",
        "| 1 | a\\|b |",
        "| 2 | NULL |",
        "| c | none | int |",
        "| none lost | failed | 3 |",
    ):
        assert line in text
    assert "y" * 60 not in text


def test_options_survive_json_and_wrong_ones_are_named() -> None:
    options = CompareOptions(
        group_by=Grouping.DAY,
        column="at",
        keys=("id",),
        audits=(AuditQuery("a", "SELECT true"),),
        thresholds=Thresholds(max_removed_rows=1),
    )
    assert CompareOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    assert CompareOptions.from_json({}) == CompareOptions()
    wrongs: list[dict[str, Any]] = [
        {"group_by": "week"},
        {"group_by": "day"},
        {"thresholds": {"max": 1}},
        {"key": []},
    ]
    for wrong in wrongs:
        with pytest.raises(UsageError) as refused:
            CompareOptions.from_json(wrong)
        assert refused.value.code == "COMPARE_INVALID"


def test_literals_have_the_type_of_their_column() -> None:
    assert literal("timestamp", "2024-01-01T00:00:00") == "CAST('2024-01-01T00:00:00+00:00' AS timestamp)"
    assert literal("timestamp", "2024-01-01") == "CAST('2024-01-01T00:00:00+00:00' AS timestamp)"
    assert literal("timestamp", "2024-01-01T00:00:00+02:00").count("+") == 1
    assert literal("timestamp_ntz", "2024-01-01T00:00:00") == "CAST('2024-01-01T00:00:00' AS timestamp_ntz)"
    assert literal("string", "it's \\") == "CAST('it\\'s \\\\' AS string)"
