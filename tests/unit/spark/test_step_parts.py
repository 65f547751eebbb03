"""The parts of a Spark step that need no Spark."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from calve.errors import UnreachableError, UsageError
from calve.settings import Settings, SparkSettings
from calve.spark.statements import Statement
from calve.spark.step.board import Board
from calve.spark.step.failures import FATAL_ERROR, PLATFORM_ERROR, USER_ERROR, StatementError, explain
from calve.spark.step.remote import with_session_id
from calve.spark.step.spec import StepSpec
from calve.spark.step.submitting import submit_command
from calve.spark.step.tables import draw_table, to_plain
from calve.steps.contract import Ending
from calve.steps.registry import find
from calve.steps.spark import Spark
from calve.steps.spark_spec import SparkOptions, make_spec
from calve.steps.sql import Sql
from support.spark_steps import Attempt, attempt


@pytest.fixture
def settings(home: Path) -> Settings:
    return Settings(home=home)


def make(settings: Settings, tmp_path: Path, type_: Spark | None = None, **params: Any) -> Attempt:
    return attempt(settings, type_ or Spark(), tmp_path, **params)


def spec_of(step: Attempt, **own: Any) -> StepSpec:
    return make_spec(step.type_.options, step.context, own)


def test_the_registry_knows_both_types() -> None:
    assert isinstance(find("spark"), Spark)
    assert isinstance(find("SQL"), Sql)


@pytest.mark.parametrize(
    ("params", "mode"),
    [
        ({}, "embedded"),
        ({"spark_url": "sc://host"}, "connect"),
        ({"master": "local[1]"}, "submit"),
        ({"master": "local[1]", "session": "embedded"}, "embedded"),
    ],
)
def test_the_mode_follows_from_the_params(settings: Settings, params: dict[str, str], mode: str) -> None:
    assert SparkOptions(script="SELECT 1", **params).mode(settings) == mode  # type: ignore[arg-type]


def test_the_settings_choose_the_mode_of_steps_that_do_not(home: Path) -> None:
    settings = Settings(home=home, spark=SparkSettings(session="submit"))
    assert SparkOptions(script="SELECT 1").mode(settings) == "submit"


@pytest.mark.parametrize(
    ("type_", "params", "said"),
    [
        (Spark(), {}, "give one of script, file and main, found none"),
        (Spark(), {"script": "a", "file": "b"}, "found script and file"),
        (Spark(), {"main": "no function"}, "main"),
        (Spark(), {"script": "a", "session": "other"}, "session"),
        (Sql(), {}, "give one of script and query, found none"),
        (Sql(), {"script": "a", "query": "b"}, "found script and query"),
    ],
)
def test_wrong_params_are_refused_before_anything_starts(
    settings: Settings, tmp_path: Path, type_: Spark, params: dict[str, str], said: str
) -> None:
    outcome = make(settings, tmp_path, type_, **params).start()
    assert outcome is not None
    assert outcome.ending is Ending.FATAL_ERROR
    assert outcome.error is not None
    assert said in outcome.error.message


def test_a_file_gets_the_params_of_the_step_as_arguments(settings: Settings, tmp_path: Path) -> None:
    step = make(settings, tmp_path, file="job.py", args=["first"], session="submit")
    spec = spec_of(step, day="monday", limit=3, flags={"a": True})
    assert spec.args == ["first", "--day", "monday", "--limit", "3", "--flags", '{"a": true}']
    assert spec.file == str(Path.cwd() / "job.py")


def test_executors_elsewhere_can_reach_the_driver(settings: Settings, tmp_path: Path) -> None:
    for master, bound in (("local[1]", True), ("spark://host:7077", False)):
        step = make(settings, tmp_path, script="SELECT 1", master=master)
        spec = spec_of(step)
        text = (Path(spec.folder) / "spark.properties").read_text()
        assert f"spark.master={master}" in text
        assert ("spark.driver.host" in text) is bound


def test_a_cluster_driver_only_gets_scripts(settings: Settings, tmp_path: Path) -> None:
    conf = {"spark.submit.deployMode": "cluster"}
    file = spec_of(make(settings, tmp_path, file="job.py", session="submit", spark_conf=conf), day="x")
    assert submit_command(file, Path("spec"))[-3:] == [file.file, "--day", "x"]
    script = spec_of(make(settings, tmp_path, script="SELECT 1", session="submit", spark_conf=conf))
    with pytest.raises(UsageError, match="can only run a 'file'"):
        submit_command(script, Path("spec"))


def test_secrets_are_not_on_the_command_line(home: Path, tmp_path: Path) -> None:
    settings = Settings(home=home, spark=SparkSettings(conf={"spark.hadoop.key": "hush"}))
    spec = spec_of(make(settings, tmp_path, script="SELECT 1", session="submit"))
    assert "hush" not in " ".join(submit_command(spec, Path("spec")))
    assert "hush" not in (spec.write()).read_text()


def test_an_attempt_has_one_session_on_a_server() -> None:
    first = with_session_id("sc://host:15002/;token=x", "attempt")
    assert first == with_session_id("sc://host:15002/;token=x", "attempt")
    assert first.startswith("sc://host:15002/;token=x;session_id=")
    assert with_session_id("sc://host", "attempt").startswith("sc://host/;session_id=")
    assert first != with_session_id("sc://host:15002/;token=x", "another")


def test_rows_are_drawn_as_a_table() -> None:
    drawn = draw_table(["id", "name"], [(1, "one\ntwo"), (22, None)], has_more=True)
    assert drawn.splitlines() == [
        "id | name",
        "---+--------",
        "1  | one two",
        "22 | NULL",
        "… (the first 2 rows)",
    ]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (True, True),
        (Decimal("3.00"), 3),
        (Decimal("3.5"), 3.5),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.UTC), "2024-01-02T03:00:00+00:00"),
        (bytearray(b"\x01\xff"), "01ff"),
        ([Decimal(1), None], [1, None]),
        ({"a": (1, 2)}, {"a": [1, 2]}),
    ],
)
def test_values_of_rows_become_values_of_params(value: object, plain: object) -> None:
    assert to_plain(value) == plain


def failed_statement(cause: Exception) -> StatementError:
    error = StatementError(2, 3, Statement("SELECT x", 4))
    error.__cause__ = cause
    return error


def test_a_statement_that_fails_is_the_users_error() -> None:
    failure = explain(failed_statement(ValueError("no x")))
    assert failure.exit_code == USER_ERROR
    assert failure.message == "statement 2 of 3, on line 4: ValueError: no x"


def test_errors_of_calve_keep_their_code() -> None:
    assert explain(UsageError("A", "b", "c")).exit_code == FATAL_ERROR
    assert explain(UnreachableError("A", "b", "c")).exit_code == PLATFORM_ERROR


def test_a_spark_that_is_gone_is_no_error_of_the_user() -> None:
    from py4j.protocol import Py4JError, Py4JNetworkError

    for cause in (Py4JNetworkError("x"), Py4JError("Answer from Java side is empty")):
        assert explain(failed_statement(cause)).exit_code == PLATFORM_ERROR
    assert explain(ValueError("x"), spark_is_gone=True).exit_code == PLATFORM_ERROR
    # A connection of the user's own is the user's business.
    assert explain(ConnectionRefusedError("x")).exit_code == USER_ERROR
    wrapped = RuntimeError("my job failed")
    wrapped.__cause__ = Py4JNetworkError("gone")
    assert explain(wrapped).exit_code == PLATFORM_ERROR


def test_progress_counts_statements_and_the_tasks_within(tmp_path: Path) -> None:
    counts: dict[str, Any] = {}

    class Meter:
        def read(self) -> dict[str, Any]:
            return dict(counts)

        def settle(self) -> None:
            return

    board = Board(tmp_path, Meter())
    board.begin(1, 2, "SELECT 1")
    counts |= {"tasks": 4, "tasks_done": 4}
    assert board.count()["fraction"] == 0.495
    board.begin(2, 2, "SELECT 2")
    counts |= {"tasks": 8, "tasks_done": 6}
    assert board.count()["fraction"] == 0.75
