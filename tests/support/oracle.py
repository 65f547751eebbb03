"""Compares captures between random snapshots of a table with Spark's reading of these snapshots."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calve.errors import RefusedError
from calve.lake import ChangeRequest, Changes, Exactness, Mode, Segment, plan_changes, write_changes
from calve.lake.metadata import Snapshot
from calve.lake.storage import read_json
from calve.settings import IcdcSettings
from support.lake_table import LakeTable, Rows, SchemaView, count_rows, read_many, read_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Pair:
    """Two states to compare."""

    start: int | None
    end: int


class Oracle:
    """Checks one table. All reads are collected first and done in few Spark jobs."""

    def __init__(self, table: LakeTable, chance: random.Random, files_come_again: bool) -> None:
        self._table = table
        self._files_come_again = files_come_again
        self._source = table.source
        self._metadata = self._source.metadata
        self._chance = chance
        self._views = SchemaView(table.spark, table.lake)
        self._frames: dict[Key, DataFrame] = {}
        self._rows: dict[Key, Rows] = {}

    def check(self, count: int) -> Counter[str]:
        """Check this many pairs in mode net, and the unbroken ones of them in the other modes too."""
        pairs = self._choose(count)
        nets = [(pair, self._capture(Mode.NET, pair)) for pair in pairs]
        linear = [pair for pair in pairs if self._line(pair) is not None]
        appends = [(pair, changes) for pair in linear if (changes := self._capture_appends(pair))]
        logs = [(pair, self._capture(Mode.LOG, pair)) for pair in linear[:2]]
        for pair, changes in nets:
            self._want_net(pair, changes)
        for pair, changes in appends:
            self._want_append(pair, changes)
        for pair, changes in logs:
            self._want_log(pair, changes)
        self._rows = read_many(self._table.spark, self._frames)
        for pair, changes in nets:
            self._check_net(pair, changes)
        alike = [(p, c) for p, c in nets if p.start and self._noted(p.start) == self._noted(p.end)]
        for pair, changes in alike[:2]:
            self._check_in_sql(pair, changes)
        for pair, changes in appends:
            self._check_append(pair, changes)
        for pair, changes in logs:
            self._check_log(pair, changes)
        return Counter(net=len(nets), append=len(appends), log=len(logs))

    # Which pairs

    def _choose(self, count: int) -> list[Pair]:
        ids = self._table.snapshot_ids
        every = [(start, end) for start in [None, *ids] for end in ids]
        chosen = self._chance.sample(every, min(count, len(every)))
        return [Pair(start, end) for start, end in chosen]

    def _schema_id(self, pair: Pair, changes: Changes) -> int:
        """The schema that the capture shows its rows with: the end's, going forward."""
        shown = {
            read_json(self._source.io, location)["current-schema-id"]
            for location in (changes.icdc_metadata_location, changes.removed_metadata_location)
            if location is not None
        }
        assert len(shown) == 1, (pair, "rows that came and rows that went do not compare")
        (schema_id,) = shown
        start, end = pair.start and self._noted(pair.start), self._noted(pair.end)
        assert schema_id == end or (start is not None and start > end and schema_id == start)
        return int(schema_id)

    def _noted(self, snapshot_id: int) -> int:
        schema_id = self._metadata.snapshot(snapshot_id).schema_id
        assert schema_id is not None
        return schema_id

    def _line(self, pair: Pair) -> list[Snapshot] | None:
        """The snapshots that lead from the start to the end, if each was made from the one before."""
        line: list[Snapshot] = []
        for snapshot in self._metadata.ancestry(pair.end):
            if snapshot.id == pair.start:
                return line[::-1]
            line.append(snapshot)
        whole = line[-1].parent_id is None and pair.start is None
        return line[::-1] if whole else None

    def _capture(self, mode: Mode, pair: Pair) -> Changes:
        request = ChangeRequest(
            mode,
            (Segment(pair.start, pair.end),),
            backward_allowed=True,
            range_columns=("id", "at") if self._chance.random() < 0.5 else (),
        )
        return write_changes(plan_changes(self._source, request), IcdcSettings(register_tables=False))

    def _capture_appends(self, pair: Pair) -> Changes | None:
        """None where a file was added twice in the range: one table cannot show that."""
        try:
            return self._capture(Mode.APPEND, pair)
        except RefusedError as refused:
            if refused.code == "DUPLICATE_FILES" and self._files_come_again:
                return None
            raise

    # What to read

    def _want_state(self, snapshot_id: int | None, schema_id: int) -> None:
        key = ("state", snapshot_id, schema_id)
        if snapshot_id is not None and key not in self._frames:
            location = self._metadata.metadata_location
            self._frames[key] = self._views.frame(location, snapshot_id, schema_id)

    def _state(self, snapshot_id: int | None, schema_id: int) -> Rows:
        return Counter() if snapshot_id is None else self._rows["state", snapshot_id, schema_id]

    def _want_net(self, pair: Pair, changes: Changes) -> None:
        schema_id = self._schema_id(pair, changes)
        self._want_state(pair.start, schema_id)
        self._want_state(pair.end, schema_id)
        for location in (changes.icdc_metadata_location, changes.removed_metadata_location):
            if location is not None:
                self._frames["net", location] = read_table(self._table.spark, location)
        if changes.row_filter is not None:
            key = ("net", changes.icdc_metadata_location)
            self._frames[key] = self._frames[key].selectExpr("*", f"NOT ({changes.row_filter}) AS carried")

    def _want_append(self, pair: Pair, changes: Changes) -> None:
        location = changes.icdc_metadata_location
        assert location is not None
        self._frames["append", location] = read_table(self._table.spark, location)
        for snapshot in self._line(pair) or ():
            self._want_state(snapshot.id, self._noted(pair.end))
            self._want_state(snapshot.parent_id, self._noted(pair.end))

    def _want_log(self, pair: Pair, changes: Changes) -> None:
        for snapshot in self._line(pair) or ():
            self._want_state(snapshot.id, self._noted(snapshot.id))
            self._want_state(snapshot.parent_id, self._noted(snapshot.id))
        for logged in changes.steps:
            for location in (changes.icdc_metadata_location, changes.removed_metadata_location):
                if location is not None:
                    frame = read_table(self._table.spark, location, logged.snapshot_id)
                    self._frames["log", location, logged.snapshot_id] = frame

    # What must hold

    def _check_net(self, pair: Pair, changes: Changes) -> None:
        schema_id = self._schema_id(pair, changes)
        old, new = self._state(pair.start, schema_id), self._state(pair.end, schema_id)
        after = self._rows["net", changes.icdc_metadata_location]
        before = self._rows.get(("net", changes.removed_metadata_location), Counter())
        if changes.row_filter is not None:
            carried = Counter({row[:-1]: count for row, count in after.items() if row[-1] == "true"})
            assert not carried - before, (pair, "the row filter leaves out a row that came")
            after = sum((Counter({row[:-1]: count}) for row, count in after.items()), Counter())
        assert after - before == new - old, (pair, "rows that came")
        assert before - after == old - new, (pair, "rows that went")
        assert changes.has_changes or old == new, pair
        at = self._frames["net", changes.icdc_metadata_location].columns.index("id")
        self._check_range(changes, [int(row[at]) for row in (after - before) + (before - after)])

    def _check_range(self, changes: Changes, ids: list[int]) -> None:
        bounds = changes.ranges.get("id")
        if bounds is not None and bounds.exactness is not Exactness.UNKNOWN:
            assert all(bounds.lower <= number <= bounds.upper for number in ids), changes

    def _check_in_sql(self, pair: Pair, changes: Changes) -> None:
        """The same once more with nothing of our own: time travel and EXCEPT ALL."""
        if changes.removed_metadata_location is None:
            return
        spark, table = self._table.spark, self._table
        read_table(spark, str(changes.icdc_metadata_location)).createOrReplaceTempView("came")
        read_table(spark, changes.removed_metadata_location).createOrReplaceTempView("went")
        old, new = (f"SELECT * FROM {table} VERSION AS OF {state}" for state in (pair.start, pair.end))
        for left, right, shown in ((new, old, "came"), (old, new, "went")):
            other = "went" if shown == "came" else "came"
            expected = count_rows(spark.sql(f"{left} EXCEPT ALL {right}"))
            assert count_rows(spark.sql(f"TABLE {shown} EXCEPT ALL TABLE {other}")) == expected, pair

    def _check_append(self, pair: Pair, changes: Changes) -> None:
        expected: Rows = Counter()
        schema_id = self._noted(pair.end)
        for snapshot in self._line(pair) or ():
            if _only_adds(snapshot):
                came = self._state(snapshot.id, schema_id) - self._state(snapshot.parent_id, schema_id)
                expected += came
        assert self._rows["append", changes.icdc_metadata_location] == expected, pair
        assert changes.records == expected.total(), pair

    def _check_log(self, pair: Pair, changes: Changes) -> None:
        shown = {logged.snapshot_id for logged in changes.steps}
        for snapshot in self._line(pair) or ():
            schema_id = self._noted(snapshot.id)
            old, new = self._state(snapshot.parent_id, schema_id), self._state(snapshot.id, schema_id)
            if snapshot.id not in shown:
                assert old == new, (pair, snapshot.id, "a step is missing")
                continue
            after = self._rows["log", changes.icdc_metadata_location, snapshot.id]
            removed = ("log", changes.removed_metadata_location, snapshot.id)
            before = self._rows.get(removed, Counter())
            assert after - before == new - old, (pair, snapshot.id)
            assert before - after == old - new, (pair, snapshot.id)


def _only_adds(snapshot: Snapshot) -> bool:
    """Whether a snapshot says of itself that it added files and did nothing else."""
    removing = ("deleted-data-files", "added-delete-files", "removed-delete-files")
    return "added-data-files" in snapshot.summary and not any(key in snapshot.summary for key in removing)
