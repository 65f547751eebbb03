"""Targets that patterns keep are equal to a recompute, over random histories of their sources."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from calve.lake import Lake, Mode
from calve.steps.patterns.rendering import aggregate, append, merge
from calve.steps.patterns.rendering import range as range_
from calve.steps.patterns.rendering.aggregate import AggregatePlan
from calve.steps.patterns.rendering.append import AppendPlan
from calve.steps.patterns.rendering.merge import MergePlan
from calve.steps.patterns.rendering.range import RangePlan
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.rendering.request import Request
from support.lake_table import MERGE_ON_READ, LakeTable
from support.pattern_histories import COLUMNS, FIRST_DAY, Kept, PatternSource, Row, run_history, small_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

NET = (
    "append",
    "append_copies",
    "compact",
    "nothing",
    "delete",
    "delete_day",
    "update",
    "move",
    "overwrite_day",
)
EVENTS = "SELECT id, day, account, secs, seq FROM src"
TOTALS = (
    "SELECT day, account, count(*) AS n, sum(secs) AS total, max(seq) AS top FROM src GROUP BY day, account"
)
#: A recompute, as each pattern's own.
Recompute = Callable[[list[Row]], list[tuple[Any, ...]]]


def newest_by(*keys: str) -> Recompute:
    def recompute(rows: list[Row]) -> list[tuple[Any, ...]]:
        best: dict[Any, Row] = {}
        for row in rows:
            key = tuple(row[name] for name in keys)
            if key not in best or row["seq"] > best[key]["seq"]:
                best[key] = row
        return [tuple(row[name] for name in ("id", "day", "account", "secs", "seq")) for row in best.values()]

    return recompute


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in keys)].append(row)
    return groups


def totals(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [
        (*key, len(group), sum(row["secs"] for row in group), max(row["seq"] for row in group))
        for key, group in grouped(rows, "day", "account").items()
    ]


def sums(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [row[:4] for row in totals(rows)]


def by_parity(rows: list[Row]) -> list[tuple[Any, ...]]:
    kept = [{**row, "odd": row["secs"] % 2} for row in rows]
    return [
        (*key, len({row["id"] for row in group if row["id"] is not None}))
        for key, group in grouped(kept, "account", "odd").items()
    ]


def busy(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(*key, len(group)) for key, group in grouped(rows, "account").items() if len(group) > 2]


def doubled(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(row["id"], row["secs"] * 2, row["seq"]) for row in rows if row["secs"] != 3]


def _order(row: Row) -> tuple[bool, date, int]:
    return row["day"] is not None, row["day"] or date.min, row["seq"]


def running(rows: list[Row]) -> list[tuple[Any, ...]]:
    """All rows with the sum of their account up to the row's own place, those level with it included."""
    found = []
    for group in grouped(rows, "account").values():
        for row in group:
            total = sum(other["secs"] for other in group if _order(other) <= _order(row))
            found.append((row["day"], row["seq"], total))
    return found


def recent(rows: list[Row]) -> list[tuple[Any, ...]]:
    """All rows with the count of their account's rows over the last three days."""
    found = []
    for group in grouped(rows, "account").values():
        for row in group:
            day = row["day"]
            near = [
                other
                for other in group
                if (other["day"] is None if day is None else _is_near(other["day"], day))
            ]
            found.append((day, row["seq"], len(near)))
    return found


def _is_near(other: date | None, day: date) -> bool:
    return other is not None and day - timedelta(days=2) <= other <= day


RUNNING = (
    "SELECT day, seq, sum(secs) OVER (PARTITION BY account ORDER BY day, seq"
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total FROM src"
)
RECENT = (
    "SELECT day, seq, count(*) OVER (PARTITION BY account ORDER BY day"
    " RANGE BETWEEN INTERVAL 2 DAYS PRECEDING AND CURRENT ROW) AS n FROM src"
)
EVENT_COLUMNS = "id bigint, day date, account string, secs int, seq bigint"


class Targets:
    """Makes targets, each with its pattern and its recompute."""

    def __init__(self, spark: SparkSession, lake: Lake, namespace: str, chance: random.Random) -> None:
        self._spark, self._lake, self._namespace, self._chance = spark, lake, namespace, chance
        self.made: dict[str, Kept] = {}

    def add(
        self, name: str, columns: str, partition: str, render: Any, plan: Any, recompute: Recompute
    ) -> None:
        modes = self._chance.choice([MERGE_ON_READ, {}])
        table = LakeTable.create(
            self._spark, self._lake, f"lake.{self._namespace}.{name}", columns, partition, 2, **modes
        )
        self.made[name] = Kept(table, lambda request: render(plan, request), recompute)

    def add_rebuilt(self) -> None:
        """Those that take rows back as well."""
        self.add(
            "merge_day", EVENT_COLUMNS, "day", merge.render,
            MergePlan(EVENTS, ["id", "day"], ["seq DESC"]), newest_by("id", "day"),
        )  # fmt: skip
        self.add(
            "merge_any", EVENT_COLUMNS, "", merge.render,
            MergePlan(EVENTS, ["id"], ["seq DESC"], atomic=True), newest_by("id"),
        )  # fmt: skip
        self.add(
            "totals", "day date, account string, n bigint, total bigint, top bigint", "day",
            aggregate.render, AggregatePlan(TOTALS, {"day": None, "account": None}), totals,
        )  # fmt: skip
        self.add(
            "parity", "account string, odd int, ids bigint", "", aggregate.render,
            AggregatePlan(
                "SELECT account, secs % 2 AS odd, count(DISTINCT id) AS ids FROM src GROUP BY 1, 2",
                {"account": None, "odd": None},
            ),
            by_parity,
        )  # fmt: skip
        self.add(
            "added", "day date, account string, n bigint, total bigint", "day", aggregate.render,
            AggregatePlan(
                "SELECT day, account, count(*) AS n, sum(secs) AS total FROM src GROUP BY day, account",
                {"day": None, "account": None}, additive={"n": "sum", "total": "sum"}, count_column="n",
            ),
            sums,
        )  # fmt: skip
        self.add(
            "running", "day date, seq bigint, total bigint", "day", range_.render,
            RangePlan(RUNNING, "day", context_before="all"), running,
        )  # fmt: skip
        self.add(
            "recent", "day date, seq bigint, n bigint", self._chance.choice(["", "months(day)"]),
            range_.render, RangePlan(RECENT, "day", context_before=timedelta(days=2)), recent,
        )  # fmt: skip

    def add_current(self, source: PatternSource) -> None:
        """The newest day overwritten, all others merged."""

        def render(_: None, request: Request) -> Rendered:
            day = FIRST_DAY + timedelta(days=source.today)
            plan = AggregatePlan(TOTALS, {"day": None, "account": None}, current=f"day = DATE '{day}'")
            return aggregate.render(plan, request)

        columns = "day date, account string, n bigint, total bigint, top bigint"
        self.add("current", columns, "day", render, None, totals)

    def add_growing(self) -> None:
        """Those that only follow rows that come."""
        self.add(
            "appended", "id bigint, double_secs int, seq bigint", "", append.render,
            AppendPlan("SELECT seq, secs * 2 AS double_secs, id FROM src WHERE secs <> 3"), doubled,
        )  # fmt: skip
        self.add(
            "once", EVENT_COLUMNS, "day", merge.render,
            MergePlan(EVENTS, ["seq"], updates=False, partition_columns={"day": "day"}), newest_by("seq"),
        )  # fmt: skip
        self.add(
            "busy", "account string, n bigint", "", aggregate.render,
            AggregatePlan(
                "SELECT account, count(*) AS n FROM src GROUP BY account HAVING count(*) > 2",
                {"account": "account"},
            ),
            busy,
        )  # fmt: skip
        self.add(
            "maxima", "day date, account string, n bigint, total bigint, top bigint", "day", aggregate.render,
            AggregatePlan(
                TOTALS, {"day": None, "account": None}, additive={"n": "sum", "total": "sum", "top": "max"}
            ),
            totals,
        )  # fmt: skip


def make_source(
    spark: SparkSession, lake: Lake, namespace: str, chance: random.Random, kinds: tuple[str, ...] | None
) -> PatternSource:
    partition = chance.choice(["day", "days(at)", "day, bucket(2, id)", ""])
    modes = chance.choice([MERGE_ON_READ, {}])
    version = chance.choice([2, 3])
    table = LakeTable.create(spark, lake, f"lake.{namespace}.src", COLUMNS, partition, version, **modes)
    return PatternSource(table, chance) if kinds is None else PatternSource(table, chance, kinds=kinds)


def chance_of(config: pytest.Config, number: int) -> random.Random:
    """Another history in every run; the seed in the header of the run repeats it."""
    return random.Random(f"{config.option.hypothesis_seed}/{number}")


def test_every_pattern_equals_a_recompute_where_rows_come_late_and_twice(
    spark: SparkSession, lake: Lake, namespace: str, pytestconfig: pytest.Config
) -> None:
    chance = chance_of(pytestconfig, 1)
    source = make_source(spark, lake, namespace, chance, None)
    targets = Targets(spark, lake, namespace, chance)
    targets.add_rebuilt()
    targets.add_growing()
    targets.add_current(source)
    with small_data(spark):
        run_history(source, targets.made, Mode.APPEND, rounds=5)


@pytest.mark.parametrize("number", [2, 3])
def test_patterns_equal_a_recompute_where_rows_go_and_change(
    spark: SparkSession, lake: Lake, namespace: str, pytestconfig: pytest.Config, number: int
) -> None:
    chance = chance_of(pytestconfig, number)
    source = make_source(spark, lake, namespace, chance, NET)
    targets = Targets(spark, lake, namespace, chance)
    targets.add_rebuilt()
    with small_data(spark):
        run_history(source, targets.made, Mode.NET, rounds=4)
