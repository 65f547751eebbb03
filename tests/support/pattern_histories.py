"""A source table with a random history, and targets that patterns keep up with it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from calve.lake import Changes, Lake, Mode
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.tables import view
from support.lake_table import LakeTable, Rows, plain
from support.spark import session_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, day date, account string, secs int, seq bigint, at timestamp"
FIRST_DAY = date(2024, 1, 1)
_ACCOUNTS = ["a", "b", "it's", "c\\d", None]
# To compile a plan takes far longer than to run it over a handful of rows.
_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}

Row = dict[str, Any]
Render = Callable[[Request], Rendered]


def small_data(spark: SparkSession) -> AbstractContextManager[None]:
    """Spark set for a handful of rows."""
    return session_conf(spark, _SMALL)


@dataclass
class PatternSource:
    """A table of events, in which days go by, rows come late and come again."""

    table: LakeTable
    chance: random.Random
    today: int = 0
    seq: int = 0
    #: Whether rows may go and change; else they only come.
    kinds: tuple[str, ...] = ("append", "append", "append_copies", "compact", "nothing")

    def step(self) -> str:
        """Do something to the table; what it was."""
        kind = self.chance.choice(self.kinds) if self.seq else "append"
        getattr(self, f"_{kind}")()
        return kind

    def rows(self) -> list[Row]:
        """All rows as Spark reads them."""
        return [row.asDict() for row in self.table.sql(f"SELECT * FROM {self.table}").collect()]

    def _append(self) -> None:
        self.today += self.chance.choice([0, 1, 1])
        rows = ", ".join(self._row() for _ in range(self.chance.randrange(1, 6)))
        self.table.insert(rows)

    def _append_copies(self) -> None:
        self.table.sql(f"INSERT INTO {self.table} SELECT * FROM {self.table} WHERE seq % 3 = {self._some(3)}")

    def _compact(self) -> None:
        self.table.compact()

    def _nothing(self) -> None:
        pass

    def _delete(self) -> None:
        self.table.sql(f"DELETE FROM {self.table} WHERE seq % 4 = {self._some(4)}")

    def _delete_day(self) -> None:
        self.table.sql(f"DELETE FROM {self.table} WHERE day = DATE '{self._day()}'")

    def _update(self) -> None:
        self.table.sql(f"UPDATE {self.table} SET secs = secs + 1 WHERE seq % 3 = {self._some(3)}")

    def _move(self) -> None:
        self.table.sql(f"UPDATE {self.table} SET account = 'b' WHERE seq % 4 = {self._some(4)}")

    def _overwrite_day(self) -> None:
        from py4j.protocol import Py4JJavaError

        rows = ", ".join(self._row(self._day()) for _ in range(2))
        where = f"day = DATE '{self._last}'"
        try:
            self.table.sql(f"INSERT INTO {self.table} REPLACE WHERE {where} VALUES {rows}")
        except Py4JJavaError as error:
            # Iceberg replaces whole files only, and those of a table without days as partitions mix them.
            if "some, but not all, rows match" not in str(error):
                raise
            self.table.sql(f"DELETE FROM {self.table} WHERE {where}")

    def _some(self, count: int) -> int:
        return self.chance.randrange(count)

    _last: date = FIRST_DAY

    def _day(self) -> date:
        """A day: mostly today, sometimes earlier."""
        late = self.chance.choice([0, 0, 0, 1, 1, 2, 5])
        self._last = FIRST_DAY + timedelta(days=max(0, self.today - late))
        return self._last

    def _row(self, day: date | None = None) -> str:
        self.seq += 1
        chance = self.chance
        kept = day or self._day()
        if day is not None:
            kept = self._last = day
        nowhere = day is None and chance.random() < 0.1
        shown = "CAST(NULL AS DATE)" if nowhere else f"DATE '{kept}'"
        at = "CAST(NULL AS TIMESTAMP)" if nowhere else f"TIMESTAMP '{kept} {chance.randrange(24):02}:30:00Z'"
        number = "CAST(NULL AS BIGINT)" if chance.random() < 0.1 else f"{chance.randrange(8)}L"
        account = _text(chance.choice(_ACCOUNTS))
        return f"({number}, {shown}, {account}, {chance.randrange(5)}, {self.seq}L, {at})"


def _text(value: str | None) -> str:
    if value is None:
        return "CAST(NULL AS STRING)"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@dataclass
class Kept:
    """A target that a pattern keeps equal to what `recompute` makes of all rows of the source."""

    table: LakeTable
    render: Render
    recompute: Callable[[list[Row]], list[tuple[Any, ...]]]
    stated: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def follow(self, lake: Lake, changes: Changes) -> int:
        """Write a change; the number of statements that it took."""
        request = view(lake, changes, self.table.name, stated=self.stated)
        rendered = self.render(request)
        for statement in rendered.statements:
            self.log.append(statement.text)
            self.table.sql(statement.text)
        return len(rendered.statements)

    def difference(self, rows: list[Row]) -> tuple[Rows, Rows]:
        """What the target has too much, and what it lacks."""
        found = Counter(plain(tuple(row)) for row in self.table.sql(f"SELECT * FROM {self.table}").collect())
        expected = Counter(plain(row) for row in self.recompute(rows))
        return found - expected, expected - found


def run_history(source: PatternSource, targets: dict[str, Kept], mode: Mode, rounds: int) -> Counter[str]:
    """Rounds of changes, each of which all targets follow; the statements that each target took."""
    start: int | None = None
    done: list[str] = []
    statements: Counter[str] = Counter()
    lake = source.table.lake
    for _ in range(rounds):
        done += [source.step() for _ in range(source.chance.choice([1, 1, 2, 3]))]
        changes = source.table.capture(mode, start, range_columns=("day",))
        start = changes.to_snapshot_id
        for name, kept in targets.items():
            statements[name] += kept.follow(lake, changes)
        rows = source.rows()
        for name, kept in targets.items():
            too_much, lacking = kept.difference(rows)
            told = f"{name} after {done}: too much {too_much}, lacking {lacking}"
            assert not too_much + lacking, told + "\n" + "\n\n".join(kept.log[-3:])
    return statements
