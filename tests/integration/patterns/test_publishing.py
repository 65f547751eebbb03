"""A write on a branch, its audits, and its publication: whole or not at all, wherever it is cut off."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calve.errors import CalveError
from calve.lake import Lake
from calve.spark.once.plan import OncePlan
from calve.spark.once.scope import Scope
from calve.spark.step.board import Board, NoMeter
from calve.spark.step.publishing import Audit, PublishPlan, run_published
from calve.spark.targets import write_of
from calve.steps.patterns.rendering.branching import on_branch
from calve.steps.writes import texts_of
from support.lake_table import LakeTable
from support.pattern_histories import small_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

BRANCH = "calve_x"
_attempts = itertools.count(1)


class CutOffError(BaseException):
    """Stands for the death of a process."""


class CutSpark:
    """A session that dies at its n-th statement, before or after that has run."""

    def __init__(self, spark: SparkSession, at: int, after: bool) -> None:
        self._spark, self._left, self._after = spark, at, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def sql(self, text: str) -> Any:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise CutOffError
        result = self._spark.sql(text)
        if self._left == 0:
            raise CutOffError
        return result


class Published:
    """A target with an INSERT of (7, 'x') that goes through a branch, under one capture after the other."""

    capture = 1

    def __init__(self, spark: SparkSession, lake: Lake, namespace: str, place: Path, audit: str) -> None:
        self.spark, self.place = spark, place
        self.table = LakeTable.create(spark, lake, f"lake.{namespace}.published")
        written = f"{self.table}.`branch_{BRANCH}`"
        audits = (Audit("ids", on_branch(audit, [str(self.table)], written, "the audit")),)
        self.plan = PublishPlan(str(self.table), BRANCH, audits)
        self.script = f"INSERT INTO {written} VALUES (7, 'x')"

    def attempt(self, spark: Any = None) -> None:
        folder = self.place / str(next(_attempts))
        folder.mkdir()
        writes = {name: found for name, text in texts_of(self.script).items() if (found := write_of(text))}
        once = OncePlan(Scope.of([(f"cap_{self.capture}", "write")]), script=writes)
        guard = once.guard(self.spark, folder, lambda line: None)
        with Board(folder, NoMeter()) as board:
            run_published(spark or self.spark, self.script, self.plan, board, lambda line: None, guard)

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in self.table.sql(f"SELECT * FROM {self.table}").collect())

    def branches(self) -> set[str]:
        return set(self.table.source.metadata.refs()) - {"main"}


def test_a_write_that_is_cut_off_anywhere_is_published_once_when_it_begins_again(
    spark: SparkSession, lake: Lake, namespace: str, tmp_path: Path
) -> None:
    published = Published(spark, lake, namespace, tmp_path, "SELECT count(*) > 0 FROM published WHERE id = 7")
    published.table.insert("(1, 'a')")
    expected = [(1, "a")]
    with small_data(spark):
        for at, after in itertools.product(range(1, 6), (False, True)):
            published.capture += 1
            with pytest.raises(CutOffError):
                published.attempt(CutSpark(spark, at, after))
            published.attempt()
            expected.append((7, "x"))
            assert published.rows() == expected, (at, after)
            assert published.branches() == set()


def test_a_failed_audit_publishes_nothing_and_tells_what_it_found(
    spark: SparkSession, lake: Lake, namespace: str, tmp_path: Path
) -> None:
    audit = "SELECT p.id, p.name FROM published p WHERE p.id > 5"
    published = Published(spark, lake, namespace, tmp_path, audit)
    published.table.insert("(1, 'a')")
    for _ in range(2):
        with pytest.raises(CalveError) as caught:
            published.attempt()
        assert caught.value.code == "AUDIT_FAILED"
        assert "ids: expected no row, or true, found" in caught.value.message
        assert "7" in caught.value.message
        assert published.rows() == [(1, "a")]
        assert published.branches() == set()


def test_a_table_that_others_wrote_meanwhile_is_not_published_over(
    spark: SparkSession, lake: Lake, namespace: str, tmp_path: Path
) -> None:
    published = Published(spark, lake, namespace, tmp_path, "SELECT true FROM published LIMIT 1")
    published.table.insert("(1, 'a')")
    with pytest.raises(CutOffError):
        published.attempt(CutSpark(spark, 3, after=False))
    published.table.insert("(2, 'b')")
    with pytest.raises(CalveError) as caught:
        published.attempt()
    assert caught.value.code == "PUBLISH_CONFLICT"
    published.attempt()
    assert published.rows() == [(1, "a"), (2, "b"), (7, "x")]


def test_an_empty_table_gets_its_first_rows_through_a_branch(
    spark: SparkSession, lake: Lake, namespace: str, tmp_path: Path
) -> None:
    published = Published(spark, lake, namespace, tmp_path, "SELECT count(*) = 1 FROM published")
    published.attempt()
    assert published.rows() == [(7, "x")]
