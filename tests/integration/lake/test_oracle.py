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
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from calve.lake import Lake
from support import history_steps  # noqa: F401 - it fills the table of steps
from support.history import STEPS, History
from support.lake_table import LakeTable
from support.oracle import Oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES = 3  # for each format version
STEPS_PER_HISTORY = 14
PAIRS_PER_HISTORY = 36
COLUMNS = "id bigint, part int, at timestamp, name string, amount int, ratio float"
PARTITIONS = ["", "part", "bucket(2, id)", "days(at)"]


@pytest.mark.slow
@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_captures_agree_with_time_travel(
    spark: SparkSession, lake: Lake, namespace: str, format_version: int
) -> None:
    numbers = itertools.count()
    # The simplest permutation is the given one, and is always tried: let it not be the same for all.
    kinds = random.Random(format_version).sample(sorted(STEPS), len(STEPS))
    pairs: Counter[str] = Counter()
    taken: Counter[str] = Counter()

    @settings(max_examples=HISTORIES, phases=(Phase.explicit, Phase.reuse, Phase.generate), database=None)
    @given(
        steps=st.permutations(kinds).map(lambda names: names[:STEPS_PER_HISTORY]),
        merge_on_read=st.booleans(),
        partitioned_by=st.sampled_from(PARTITIONS),
        seed=st.integers(0, 2**32),
    )
    def check(steps: list[str], merge_on_read: bool, partitioned_by: str, seed: int) -> None:
        mode = "merge-on-read" if merge_on_read and format_version > 1 else "copy-on-write"
        table = LakeTable.create(
            spark,
            lake,
            f"lake.{namespace}.t{next(numbers)}",
            COLUMNS,
            partitioned_by,
            format_version,
            write_delete_mode=mode,
            write_update_mode=mode,
            write_merge_mode=mode,
        )
        history = History(table, random.Random(seed))
        history.run("append_several_files")
        for kind in steps:
            history.run(kind)
        note(f"{mode}, partitioned by {partitioned_by!r}, seed {seed}: {history.done}")
        taken.update(history.done)
        oracle = Oracle(table, random.Random(seed), "add_a_removed_file_again" in history.done)
        pairs.update(oracle.check(PAIRS_PER_HISTORY))

    check()
    print(f"format {format_version}: {dict(pairs)}; {dict(sorted(taken.items()))}")
    assert pairs["net"] >= 100
    assert len(taken) >= 15
