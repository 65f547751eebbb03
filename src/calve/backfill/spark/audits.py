"""Queries of the user that judge a branch."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from calve.backfill.spark.options import AuditQuery
from calve.backfill.spark.plain import plain
from calve.backfill.spark.report import AuditResult
from calve.backfill.spark.targets import branch_name
from calve.spark.once.landing import MAIN

BRANCH_TABLE = "${branch_table}"
MAIN_TABLE = "${main_table}"


def ask(spark: Any, audit: AuditQuery, table: str, branch: str) -> AuditResult:
    """What an audit says. One that cannot be asked, or gives anything but one value, has not passed."""
    from pyspark.errors import PySparkException

    sql = audit.sql.replace(BRANCH_TABLE, branch_name(table, branch)).replace(
        MAIN_TABLE, branch_name(table, MAIN)
    )
    try:
        rows = spark.sql(sql).take(2)
    except PySparkException as error:
        return AuditResult(audit.name, passed=False, problem=str(error).split("\n", 1)[0])
    if len(rows) != 1 or len(rows[0]) != 1:
        found = "no row" if not rows else "more than one row or column"
        return AuditResult(audit.name, passed=False, problem=f"it gives {found}, expected one value")
    value = rows[0][0]
    if not isinstance(value, bool | int | float | Decimal):
        problem = f"it gives {plain(value)!r}, expected a boolean or a number"
        return AuditResult(audit.name, passed=False, problem=problem)
    passed = value if isinstance(value, bool) else value == 0
    return AuditResult(audit.name, passed=passed, value=plain(value))
