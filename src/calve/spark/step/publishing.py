"""A script on a branch of its target, audited there, and published or dropped.

It may end at any point and begin again: the branch is made if it is not there, statements that have landed on
it or on the table are passed over, audits are asked again, and publishing what is published changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from calve.errors import ConflictError, RefusedError
from calve.spark.once.guard import Guard
from calve.spark.once.landing import MAIN
from calve.spark.once.plan import WAP_BRANCH
from calve.spark.step.board import Board
from calve.spark.step.script import Say, run_script
from calve.spark.step.tables import draw_table
from calve.spark.targets import dotted, parse_name

AUDIT_FAILED = "AUDIT_FAILED"
PUBLISH_CONFLICT = "PUBLISH_CONFLICT"
_SHOWN = 5
_NOT_AN_ANCESTOR = "is not an ancestor"


@dataclass(frozen=True, slots=True)
class Audit:
    """A query that has to give no row, or true."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """The table, the branch that is written for it, and what has to hold on the branch.

    `base` is the branch that it begins from, and that it is published to.
    """

    table: str
    branch: str
    audits: tuple[Audit, ...]
    base: str = MAIN

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {**asdict(self), "audits": [asdict(audit) for audit in self.audits]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The plan that `to_json` wrote."""
        audits = tuple(Audit(**audit) for audit in document["audits"])
        return cls(document["table"], document["branch"], audits, document["base"])


def run_published(
    spark: Any, script: str, plan: PublishPlan, board: Board, say: Say, guard: Guard | None
) -> None:
    """Write to the branch, audit, publish. Raises AUDIT_FAILED or PUBLISH_CONFLICT, the branch dropped."""
    # Iceberg writes to one branch: that which the script names, and not one of the session's.
    spark.conf.unset(WAP_BRANCH)
    base = "" if plan.base == MAIN else f" AS OF VERSION {_head_of(spark, plan)}"
    spark.sql(f"ALTER TABLE {plan.table} CREATE BRANCH IF NOT EXISTS `{plan.branch}`{base}")
    say(f"writing to branch {plan.branch} of {plan.table}")
    run_script(spark, script, board, say, guard)
    failures = [found for audit in plan.audits if (found := _audit(spark, audit, say)) is not None]
    if failures:
        _drop(spark, plan, guard)
        raise RefusedError(
            AUDIT_FAILED,
            f"{len(failures)} of {len(plan.audits)} audits of {plan.table} failed, nothing was published:\n"
            + "\n".join(failures),
            "correct the data or the query, then restart the step",
        )
    _publish(spark, plan, guard)
    say(f"published branch {plan.branch} of {plan.table}")


def _head_of(spark: Any, plan: PublishPlan) -> int:
    """The newest snapshot of the branch that it begins from."""
    refs = f"SELECT snapshot_id FROM {plan.table}.refs WHERE name = '{plan.base}'"
    for row in spark.sql(refs).collect():
        return int(row[0])
    raise ConflictError(
        "BRANCH_NOT_FOUND",
        f"{plan.table} has no branch {plan.base}, which the backfill writes",
        "it was deleted by hand: start the backfill again",
    )


def _audit(spark: Any, audit: Audit, say: Say) -> str | None:
    """What an audit found; None if it has nothing to say against the branch."""
    result = spark.sql(audit.sql)
    rows = result.take(_SHOWN + 1)
    if _is_passed(rows):
        say(f"audit {audit.name}: passed")
        return None
    found = draw_table(result.columns, rows[:_SHOWN], has_more=len(rows) > _SHOWN)
    say(f"audit {audit.name}: failed\n{found}")
    return f"{audit.name}: expected no row, or true, found\n{found}"


def _is_passed(rows: Sequence[Any]) -> bool:
    return not rows or (len(rows) == 1 and len(rows[0]) == 1 and rows[0][0] is True)


def _publish(spark: Any, plan: PublishPlan, guard: Guard | None) -> None:
    catalog = dotted(parse_name(plan.table)[:1])
    name = plan.table.replace("\\", "\\\\").replace("'", "\\'")
    ahead = f"table => '{name}', branch => '{plan.base}', to => '{plan.branch}'"
    try:
        spark.sql(f"CALL {catalog}.system.fast_forward({ahead})").collect()
    except Exception as error:
        if _NOT_AN_ANCESTOR not in str(error):
            raise
        _drop(spark, plan, guard)
        raise ConflictError(
            PUBLISH_CONFLICT,
            f"{plan.table} was written by others while its branch {plan.branch} was audited",
            "try again: the change is written to a new branch of the table as it is now",
        ) from error
    spark.sql(f"ALTER TABLE {plan.table} DROP BRANCH IF EXISTS `{plan.branch}`")


def _drop(spark: Any, plan: PublishPlan, guard: Guard | None) -> None:
    """Nothing of the branch stays; what was noted of its writes goes first, so that they are made again."""
    if guard is not None:
        guard.notes.forget()
    spark.sql(f"ALTER TABLE {plan.table} DROP BRANCH IF EXISTS `{plan.branch}`")
