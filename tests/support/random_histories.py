"""Tables with random histories: what is drawn, and the table that it makes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import note
from hypothesis import strategies as st

from calve.lake import Lake
from support import history_steps  # noqa: F401 - it fills the table of steps
from support.history import STEPS, History
from support.lake_table import LakeTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = "id bigint, part int, at timestamp, name string, amount int, ratio float"


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """What happens to a table, and how it is made."""

    steps: Sequence[str]
    format_version: int
    merge_on_read: bool
    partitioned_by: str
    seed: int

    def make(self, spark: SparkSession, lake: Lake, name: str) -> History:
        """The table, after all of it."""
        mode = "merge-on-read" if self.merge_on_read and self.format_version > 1 else "copy-on-write"
        modes = {f"write_{kind}_mode": mode for kind in ("delete", "update", "merge")}
        table = LakeTable.create(
            spark, lake, name, _COLUMNS, self.partitioned_by, self.format_version, **modes
        )
        history = History(table, random.Random(self.seed))
        for kind in ("append_several_files", *self.steps):
            history.run(kind)
        note(f"{mode}, partitioned by {self.partitioned_by!r}, seed {self.seed}: {history.done}")
        return history


def history_plans(
    format_version: int, steps: int, partitions: Sequence[str]
) -> st.SearchStrategy[HistoryPlan]:
    """So many different steps each."""
    # The simplest permutation is the given one, and is always tried: let it not be the same for all.
    kinds = random.Random(format_version).sample(sorted(STEPS), len(STEPS))
    return st.builds(
        HistoryPlan,
        st.permutations(kinds).map(lambda names: names[:steps]),
        st.just(format_version),
        st.booleans(),
        st.sampled_from(partitions),
        st.integers(0, 2**32),
    )
