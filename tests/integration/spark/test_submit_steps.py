"""Spark steps by `spark-submit`: a Spark of their own, with settings that only a start can set."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import psutil
import pytest

from calve.lake.catalogs import Lake
from calve.settings import Settings
from calve.steps.contract import Ending
from support.steps import runs

if TYPE_CHECKING:
    from .conftest import Begin

pytestmark = [pytest.mark.jvm, pytest.mark.slow]


def test_a_script_runs_on_the_lake_with_settings_of_its_own(sql_step: Begin, step_settings: Settings) -> None:
    step = sql_step(
        script="""
            CREATE OR REPLACE TABLE lake.db.submitted AS SELECT id FROM range(10);
            SELECT count(*) AS n FROM lake.db.submitted
        """,
        session="submit",
        master="local[1]",
        spark_conf={"spark.driver.memory": "700m"},
        n=0,
    )
    outcome = step.run()
    assert outcome.outputs == {"n": 10}, step.log()
    assert Lake(step_settings).catalog("lake").load_table("db.submitted").scan().count() == 10
    properties = step.context.place / "spark.properties"
    assert properties.stat().st_mode & 0o077 == 0
    assert "spark.driver.memory=700m" in properties.read_text()


def test_a_chunk_of_a_backfill_writes_its_branch_and_has_its_views(
    sql_step: Begin, chunk_script: str
) -> None:
    step = sql_step(script=chunk_script, session="submit", master="local[1]", branch="", n=0)
    assert step.run().outputs == {"branch": "backfill_1", "n": 7}, step.log()


def test_a_file_that_fails_is_the_users_error(spark_step: Begin, code_folder: Path) -> None:
    (code_folder / "submitted.py").write_text(
        dedent(
            """
            import sys
            from pyspark.sql import SparkSession

            spark = SparkSession.builder.getOrCreate()
            assert spark.sparkContext.master == "local[1]"
            spark.stop()
            sys.exit("argument " + sys.argv[2])
            """
        )
    )
    step = spark_step(file="submitted.py", master="local[1]", day="monday")
    outcome = step.run()
    assert outcome.ending is Ending.USER_ERROR, step.log()
    assert outcome.error is not None
    assert "argument monday" in outcome.error.message


def test_a_cancelled_step_takes_its_spark_along(sql_step: Begin) -> None:
    step = sql_step(
        script="SELECT reflect('java.lang.Thread', 'sleep', 600000L) FROM range(2)", master="local[1]"
    )
    assert step.start() is None
    step.wait_for_jobs()
    family = psutil.Process(step.pid).children(recursive=True)
    assert any("java" in process.name() for process in family)
    step.cancel()
    assert not any(runs(process) for process in family)


def test_a_spark_that_does_not_come_up_is_a_platform_error(sql_step: Begin) -> None:
    step = sql_step(
        script="SELECT 1", master="spark://127.0.0.1:1", spark_conf={"spark.driver.memory": "none"}
    )
    outcome = step.run()
    assert outcome.ending is Ending.PLATFORM_ERROR, step.log()
