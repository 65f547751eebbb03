"""Captures of random histories against what Spark's time travel says of the same snapshots.

For two states S0 and S1 and the two tables of a capture, as multisets of rows:
    rows(S1) - rows(S0) = after - before    and    rows(S0) - rows(S1) = before - after
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, given, settings

from calve.lake import Lake
from support.oracle import Oracle
from support.random_histories import HistoryPlan, history_plans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES = 3  # for each format version
STEPS_PER_HISTORY = 14
PAIRS_PER_HISTORY = 36
PARTITIONS = ["", "part", "bucket(2, id)", "days(at)"]


@pytest.mark.slow
@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_captures_agree_with_time_travel(
    spark: SparkSession, lake: Lake, namespace: str, format_version: int
) -> None:
    numbers = itertools.count()
    pairs: Counter[str] = Counter()
    taken: Counter[str] = Counter()

    @settings(max_examples=HISTORIES, phases=(Phase.explicit, Phase.reuse, Phase.generate), database=None)
    @given(plan=history_plans(format_version, STEPS_PER_HISTORY, PARTITIONS))
    def check(plan: HistoryPlan) -> None:
        history = plan.make(spark, lake, f"lake.{namespace}.t{next(numbers)}")
        taken.update(history.done)
        is_added_again = "add_a_removed_file_again" in history.done
        pairs.update(Oracle(history.table, random.Random(plan.seed), is_added_again).check(PAIRS_PER_HISTORY))

    check()
    print(f"format {format_version}: {dict(pairs)}; {dict(sorted(taken.items()))}")
    assert pairs["net"] >= 100
    assert len(taken) >= 15
