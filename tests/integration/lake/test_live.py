"""Live rows of random ranges over random histories, against Spark's reading of the same snapshots.

For a state S and a range R of a column: the rows of the ICDC table that meet its row filter are
the rows of `VERSION AS OF S` that are in R.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings

from calve.lake import Changes, Lake, LiveRequest, measure_live, touched_by, touched_by_each, write_live
from calve.lake.deletes import PartitionKey
from calve.settings import IcdcSettings
from support.lake_table import LakeTable, read_many, read_table
from support.random_histories import HistoryPlan, history_plans

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES = 2  # for each format version
STEPS_PER_HISTORY = 10
RANGES_PER_HISTORY = 25
PARTITIONS = ["", "part", "bucket(2, id)", "days(at)", "truncate(10, id)", "months(at), part"]
#: A bound as JSON shows it, and as SQL says it, by type.
BOUNDS: dict[str, tuple[list[Any], str]] = {
    "long": ([0, 4, 9, 10, 15, 22, 29], "{}L"),
    "int": ([0, 1, 2, 3], "{}"),
    "float": ([0.0, 1.5, 3.0], "CAST({} AS float)"),
    "double": ([0.0, 1.5, 3.0], "{}D"),
    "string": (["a", "b", "bb", "d"], "'{}'"),
    "timestamptz": (
        ["2024-01-01", "2024-01-02", "2024-01-02T13:00:00+00:00", "2024-01-03T15:00:00+00:00"],
        "TIMESTAMP '{}'",
    ),
}


@dataclass(frozen=True)
class Case:
    """A range of a state, and what it should hold."""

    request: LiveRequest
    condition: str


def choose(table: LakeTable, chance: random.Random) -> Case | None:
    """A range of a column that the state has; None where there is no order to it."""
    metadata = table.source.metadata
    snapshot = metadata.snapshot(chance.choice(table.snapshot_ids))
    column = chance.choice(metadata.schema_of(snapshot)["fields"])
    values, literal = BOUNDS.get(str(column["type"]), ([], ""))
    if not values:
        return None
    first, second = sorted(chance.sample(range(-1, len(values) + 1), 2))
    lower = values[first] if first >= 0 else None
    upper = values[second] if second < len(values) else None
    name = column["name"]
    parts = [f"{name} IS NOT NULL"]
    parts += [] if lower is None else [f"{name} >= {literal.format(lower)}"]
    parts += [] if upper is None else [f"{name} < {literal.format(upper)}"]
    return Case(LiveRequest(snapshot.id, name, lower, upper), " AND ".join(parts))


def check_ranges(table: LakeTable, chance: random.Random, count: int) -> Counter[str]:
    """Compare this many ranges, in few Spark jobs."""
    source, frames, found = table.source, dict[Any, Any](), dict[Case, Changes]()
    for case in filter(None, (choose(table, chance) for _ in range(count))):
        changes = found[case] = write_live(source, case.request, IcdcSettings(register_tables=False))
        measured = measure_live(source, case.request)
        assert (measured.files, measured.records, measured.bytes) == (
            changes.files,
            changes.records,
            changes.bytes,
        )
        shown = read_table(table.spark, str(changes.icdc_metadata_location))
        frames[case, "shown"] = shown.where(changes.row_filter) if changes.row_filter else shown
        state = f"SELECT * FROM {table} VERSION AS OF {case.request.snapshot_id}"
        frames[case, "expected"] = table.sql(f"{state} WHERE {case.condition}")
    rows = read_many(table.spark, frames)
    for case, changes in found.items():
        assert rows[case, "shown"] == rows[case, "expected"], (case, changes.row_filter)
    with_rows = sum(bool(rows[case, "shown"]) for case in found)
    filtered = sum(changes.row_filter is not None for changes in found.values())
    return Counter(ranges=len(found), with_rows=with_rows, filtered=filtered)


def check_touched(table: LakeTable, chance: random.Random) -> int:
    """What each snapshot touched covers what differs in the end; a state differs from itself in nothing."""
    source = table.source
    head = source.metadata.current_snapshot_id()
    assert head is not None
    line = [snapshot.id for snapshot in source.metadata.ancestry(head)]
    start = chance.choice(line[1:] or line)
    each = touched_by_each(source, start, head)
    net = touched_by(source, start, head).partitions
    assert net.keys() <= frozenset[PartitionKey]().union(*(touched.partitions for touched in each))
    back = touched_by(source, head, start).partitions
    assert {key: (x.added, x.removed) for key, x in net.items()} == {
        key: (x.removed, x.added) for key, x in back.items()
    }
    assert touched_by(source, head, head).partitions == {}
    live = {row[0] for row in table.sql(f"SELECT file_path FROM {table}.data_files").collect()}
    whole = touched_by(source, None, head).partitions.values()
    assert frozenset[str]().union(*(touch.added for touch in whole)) == live
    return len(each)


@pytest.mark.slow
@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_live_ranges_agree_with_time_travel(
    spark: SparkSession, lake: Lake, namespace: str, format_version: int
) -> None:
    numbers = itertools.count()
    seen: Counter[str] = Counter()

    @settings(max_examples=HISTORIES, phases=(Phase.explicit, Phase.reuse, Phase.generate), database=None)
    @given(plan=history_plans(format_version, STEPS_PER_HISTORY, PARTITIONS))
    def check(plan: HistoryPlan) -> None:
        table = plan.make(spark, lake, f"lake.{namespace}.t{next(numbers)}").table
        seen.update(check_ranges(table, random.Random(plan.seed), RANGES_PER_HISTORY))
        seen["touched"] += check_touched(table, random.Random(plan.seed))

    check()
    print(f"format {format_version}: {dict(seen)}")
    assert seen["ranges"] >= 30
    assert seen["with_rows"] >= 10
    assert seen["filtered"] >= 5
