"""Spark steps in the embedded Spark: what they run, what they give back, what keeps them apart."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from calve.lake.catalogs import Lake
from calve.settings import Settings
from calve.steps.contract import Ending

if TYPE_CHECKING:
    from support.spark_steps import Attempt

    from .conftest import Begin

pytestmark = pytest.mark.jvm


def write(folder: Path, name: str, code: str) -> Path:
    file = folder / name
    file.write_text(dedent(code))
    return file


def test_a_script_writes_a_table_of_the_lake(sql_step: Begin, step_settings: Settings) -> None:
    step = sql_step(
        script="""
            CREATE TABLE lake.db.events AS SELECT id, id % 2 AS odd FROM range(100);
            INSERT INTO lake.db.events SELECT id, 7 FROM range(5); -- late; very late
            SELECT odd, count(*) AS n FROM lake.db.events GROUP BY odd ORDER BY odd;
        """
    )
    outcome = step.run()
    assert outcome.ending is Ending.DONE, outcome
    assert Lake(step_settings).catalog("lake").load_table("db.events").scan().count() == 105
    log = step.log()
    assert "[2/3] INSERT INTO lake.db.events" in log
    assert "7   | 5" in log
    assert outcome.artifacts["spark"]["statements"] == 3


def test_the_last_row_fills_the_params_of_its_columns(sql_step: Begin) -> None:
    query = "SELECT 7 AS n, 2.5D AS ratio, 'x' AS other, DATE'2024-02-03' AS day, 1.50BD AS price"
    step = sql_step(query=query, n=0, ratio=0.0, day="", price=0.0)
    assert step.run().outputs == {"n": 7, "ratio": 2.5, "day": "2024-02-03", "price": 1.5}


def test_more_than_one_row_fills_nothing(sql_step: Begin) -> None:
    assert sql_step(script="SELECT id AS n FROM range(2)", n=0).run().outputs == {}


def test_a_long_result_is_cut_in_the_log(sql_step: Begin) -> None:
    step = sql_step(script="SELECT id FROM range(1000)")
    assert step.run().ending is Ending.DONE
    assert "the first 20 rows" in step.log()


def test_a_compound_statement_runs_as_one(sql_step: Begin) -> None:
    step = sql_step(script="BEGIN DECLARE x INT DEFAULT 3; SET x = x + 1; SELECT x AS n; END;", n=0)
    outcome = step.run()
    assert outcome.outputs == {"n": 4}, step.log()
    assert "[1/1]" in step.log()


def test_a_file_gets_its_params_as_arguments_and_the_session_of_the_step(
    spark_step: Begin, code_folder: Path
) -> None:
    write(code_folder, "helping.py", "def double(x):\n    return 2 * x\n")
    write(
        code_folder,
        "job.py",
        """
        import argparse, json, os
        from pyspark.sql import SparkSession
        from pyspark.sql.functions import udf
        from helping import double

        parser = argparse.ArgumentParser()
        parser.add_argument("--day")
        parser.add_argument("--limits", type=json.loads)
        given = parser.parse_args()
        spark = SparkSession.builder.appName("mine").getOrCreate()
        assert spark is SparkSession.getActiveSession()
        total = spark.range(4).select(udf(double, "long")("id").alias("x")).groupBy().sum("x").first()[0]
        rdd = spark.sparkContext.parallelize([1, 2, 3]).map(lambda x: x + 1).sum()
        print("day is", given.day)
        json.dump({"total": total + rdd, "last": given.limits["last"]}, open(os.environ["CALVE_OUTPUT"], "w"))
        """,
    )
    step = spark_step(file="job.py", day="2024-01-01", limits={"last": 3}, total=0, last=0)
    # `total` and `last` are params too, and the parser does not know them.
    outcome = step.run()
    assert outcome.ending is Ending.USER_ERROR
    step = spark_step(file="job.py", day="2024-01-01", limits={"last": 3})
    outcome = step.run()
    assert outcome.outputs == {"total": 21, "last": 3}, step.log()
    assert "day is 2024-01-01" in step.log()


def test_changed_code_is_seen_by_the_next_step(spark_step: Begin, code_folder: Path) -> None:
    write(
        code_folder,
        "changing_job.py",
        """
        import json, os
        from pyspark.sql import SparkSession
        from pyspark.sql.functions import udf
        from changing import f

        spark = SparkSession.builder.getOrCreate()
        answer = spark.range(1).select(udf(f, "long")("id")).first()[0]
        json.dump({"n": answer}, open(os.environ["CALVE_OUTPUT"], "w"))
        """,
    )
    for answer in (1, 22):
        write(code_folder, "changing.py", f"def f(x):\n    return {answer}\n")
        step = spark_step(file="changing_job.py")
        assert step.run().outputs == {"n": answer}, step.log()


def test_a_function_gets_session_and_params_and_gives_outputs(spark_step: Begin, code_folder: Path) -> None:
    write(
        code_folder,
        "jobs_module.py",
        """
        def count(spark, params):
            return {"n": spark.range(params["size"]).count()}
        """,
    )
    assert spark_step(main="jobs_module:count", size=12, n=0).run().outputs == {"n": 12}


def test_views_and_settings_of_a_step_are_its_own(sql_step: Begin) -> None:
    first = sql_step(
        script="""
            CREATE TEMPORARY VIEW mine AS SELECT 1 AS n;
            SET spark.sql.shuffle.partitions = 7;
            SELECT n FROM mine
        """,
        n=0,
    )
    assert first.run().outputs == {"n": 1}, first.log()
    second = sql_step(script="SELECT n FROM mine").run()
    assert second.error is not None
    assert "TABLE_OR_VIEW_NOT_FOUND" in second.error.message
    third = sql_step(script="SET spark.sql.shuffle.partitions", value="")
    assert third.run().outputs == {"value": "2"}, third.log()


def test_a_stop_in_a_script_is_harmless(spark_step: Begin, sql_step: Begin, code_folder: Path) -> None:
    write(
        code_folder,
        "stopping.py",
        """
        from pyspark.sql import SparkSession

        with SparkSession.builder.getOrCreate() as spark:
            spark.range(1).count()
        spark.sparkContext.cancelAllJobs()
        spark.sparkContext.stop()
        assert SparkSession.builder.getOrCreate().range(3).count() == 3
        """,
    )
    step = spark_step(file="stopping.py")
    assert step.run().ending is Ending.DONE, step.log()
    assert sql_step(script="SELECT 1 AS n", n=0).run().outputs == {"n": 1}


def test_runtime_settings_are_set_and_static_ones_refused(sql_step: Begin) -> None:
    allowed = sql_step(
        script="SET spark.sql.shuffle.partitions", spark_conf={"spark.sql.shuffle.partitions": "5"}, value=""
    )
    assert allowed.run().outputs == {"value": "5"}, allowed.log()
    for key in ("spark.executor.memory", "spark.sql.warehouse.dir"):
        refused = sql_step(script="SELECT 1", spark_conf={key: "1g"}).run()
        assert refused.ending is Ending.FATAL_ERROR
        assert refused.error is not None
        assert refused.error.code == "SPARK_CONF_FIXED"
        assert key in refused.error.message
        assert "submit" in refused.error.remedy


def test_a_wrong_statement_is_named_with_sparks_reason(sql_step: Begin) -> None:
    step = sql_step(script="SELECT 1;\n\nSELECT * FROM lake.db.nowhere;\nSELECT 2")
    outcome = step.run()
    assert outcome.ending is Ending.USER_ERROR
    assert outcome.error is not None
    assert outcome.error.code == "SPARK_STATEMENT_FAILED"
    assert outcome.error.message.startswith("statement 2 of 3, on line 3: [TABLE_OR_VIEW_NOT_FOUND]")
    assert "Traceback" not in step.log()


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"main": "no_such_module:f"}, "SPARK_MAIN_MISSING"),
        ({"main": "jobs_nothing:f"}, "SPARK_MAIN_MISSING"),
        ({"file": "no_such_file.py"}, "SPARK_FILE_MISSING"),
        ({"script": " -- nothing\n"}, "SPARK_SCRIPT_EMPTY"),
    ],
)
def test_what_is_not_there_is_not_tried_again(
    spark_step: Begin, code_folder: Path, params: dict[str, str], code: str
) -> None:
    write(code_folder, "jobs_nothing.py", "")
    outcome = spark_step(**params).run()
    assert outcome.ending is Ending.FATAL_ERROR
    assert outcome.error is not None
    assert outcome.error.code == code


def test_a_failing_script_shows_its_traceback(spark_step: Begin, code_folder: Path) -> None:
    write(code_folder, "failing.py", "def go():\n    raise ValueError('no luck')\ngo()\n")
    step = spark_step(file="failing.py")
    outcome = step.run()
    assert outcome.ending is Ending.USER_ERROR
    assert outcome.error is not None
    assert "ValueError: no luck" in outcome.error.message
    assert "failing.py" in step.log()


def test_the_log_of_sparks_driver_reaches_the_step(
    sql_step: Begin, spark_step: Begin, code_folder: Path
) -> None:
    write(
        code_folder,
        "logging_job.py",
        """
        from pyspark.sql import SparkSession

        jvm = SparkSession.builder.getOrCreate().sparkContext._jvm
        jvm.org.apache.logging.log4j.LogManager.getLogger("mine").warn("seen in the driver")
        """,
    )
    step = spark_step(file="logging_job.py")
    assert step.run().ending is Ending.DONE
    assert "WARN mine: seen in the driver" in step.log()
    other = sql_step(script="SELECT 1")
    other.run()
    assert "seen in the driver" not in other.log()


def test_progress_has_tasks_and_rows(sql_step: Begin) -> None:
    step = sql_step(script="SELECT sum(id) FROM range(0, 100000, 1, 8)")
    step.run()
    assert step.context.place.joinpath("progress.json").exists()
    counts = json.loads(step.context.place.joinpath("progress.json").read_text())
    assert counts["tasks_done"] == counts["tasks"] >= 8
    assert counts["input_rows"] == 100000


def test_a_step_counts_the_files_that_its_own_scans_opened(sql_step: Begin, step_settings: Settings) -> None:
    names = [f"scanned_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    fill = "CREATE TABLE db.{0} PARTITIONED BY (p) AS SELECT id, id % {1} AS p FROM range(300 * {1})"
    made = sql_step(script=";".join(fill.format(*each) for each in zip(names, (2, 3), strict=True))).run()
    assert made.ending is Ending.DONE, made
    sizes = [_file_sizes(step_settings, name) for name in names]
    assert [len(of_table) for of_table in sizes] == [2, 3]

    steps = [sql_step(script=f"SELECT sum(id) FROM db.{name}") for name in names]
    for step in steps:
        assert step.start() is None
    for step, of_table in zip(steps, sizes, strict=True):
        assert step.wait().ending is Ending.DONE
        assert _scanned(step) == (len(of_table), sum(of_table.values()))

    merge = sql_step(
        script=f"""
        SELECT count(*) FROM db.{names[1]} WHERE p = 1 AND id > 5;
        MERGE INTO db.{names[0]} t USING (SELECT * FROM db.{names[1]} WHERE p = 2) s
        ON t.id = s.id AND t.p = 0 WHEN MATCHED THEN UPDATE SET id = -1
        """
    )
    assert merge.run().ending is Ending.DONE
    first, source, target = sizes[1]["p=1"], sizes[1]["p=2"], sizes[0]["p=0"]
    # A MERGE looks first for the files that it must write anew: it reads both sides twice.
    assert _scanned(merge) == (5, first + 2 * (source + target)), merge.log()
    assert f"1 files opened, {first:,} bytes in them" in merge.log()


def _scanned(step: Attempt) -> tuple[int, int]:
    counts = json.loads(step.context.place.joinpath("progress.json").read_text())
    return counts["input_files"], counts["input_bytes"]


def _file_sizes(settings: Settings, table: str) -> dict[str, int]:
    tasks = Lake(settings).catalog("lake").load_table(f"db.{table}").scan().plan_files()
    return {f"p={task.file.partition[0]}": task.file.file_size_in_bytes for task in tasks}


def test_steps_run_side_by_side(sql_step: Begin) -> None:
    steps = [sql_step(script=f"SELECT sum(id) + {number} AS n FROM range(1000)", n=0) for number in range(3)]
    for step in steps:
        assert step.start() is None
    assert [step.wait().outputs for step in steps] == [{"n": 499500 + number} for number in range(3)]
