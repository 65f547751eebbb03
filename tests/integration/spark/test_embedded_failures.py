"""Bad days of the embedded Spark: cancelled steps, dead processes, dead JVMs, idle hosts."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import psutil
import pytest

from calve.settings import Settings
from calve.spark.host import stop
from calve.spark.host.folder import HostFolder, HostRecord, hosts_folder
from calve.steps.contract import Ending
from calve.steps.sql import Sql
from support.spark_steps import Attempt, attempt, eventually

if TYPE_CHECKING:
    from .conftest import Begin

pytestmark = pytest.mark.jvm

SLEEP = "SELECT reflect('java.lang.Thread', 'sleep', 600000L) FROM range(2)"


@pytest.fixture
def active_jobs(spark_step: Begin, code_folder: Path) -> Path:
    """A module that counts what runs in the JVM."""
    file = code_folder / "active_jobs.py"
    file.write_text(
        dedent(
            """
            def count(spark, params):
                context = spark.sparkContext._jsc.sc()
                tasks = context.statusStore().executorList(True).head().activeTasks()
                return {"jobs": len(spark.sparkContext.statusTracker().getActiveJobsIds()), "tasks": tasks}
            """
        )
    )
    return file


def count_active(spark_step: Begin) -> dict[str, int]:
    step = spark_step(main="active_jobs:count", jobs=0, tasks=0)
    outcome = step.run()
    assert outcome.ending is Ending.DONE, step.log()
    return dict(outcome.outputs)


def host_of(step: Attempt) -> HostFolder:
    folders = [HostFolder(path) for path in hosts_folder(step.context.settings.home).glob("*")]
    return next(folder for folder in folders if folder.is_alive())


def record_of(step: Attempt) -> HostRecord:
    record = host_of(step).read_record()
    assert record is not None
    return record


def step_process(step: Attempt) -> psutil.Process:
    """The Python of the step, below the shell that records its exit code."""
    return psutil.Process(step.pid).children()[0]


@pytest.mark.usefixtures("active_jobs")
def test_a_cancelled_step_leaves_no_job_in_spark(sql_step: Begin, spark_step: Begin) -> None:
    step = sql_step(script=SLEEP)
    assert step.start() is None
    step.wait_for_jobs()
    assert count_active(spark_step)["jobs"] == 1
    step.cancel()
    assert count_active(spark_step) == {"jobs": 0, "tasks": 0}
    assert not psutil.pid_exists(step.pid)


@pytest.mark.usefixtures("active_jobs")
def test_jobs_of_threads_are_cancelled_too(spark_step: Begin, code_folder: Path) -> None:
    (code_folder / "threaded.py").write_text(
        dedent(
            f"""
            import threading, time
            from pyspark.sql import SparkSession

            spark = SparkSession.builder.getOrCreate()
            rdd = spark.sparkContext.parallelize([1], 1)
            rest = lambda x: time.sleep(600)
            work = [lambda: spark.sql("{SLEEP}").collect(), lambda: rdd.map(rest).count()]
            threads = [threading.Thread(target=item) for item in work]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            """
        )
    )
    step = spark_step(file="threaded.py")
    assert step.start() is None
    eventually(lambda: step.poll() is None and step.progress.get("jobs", 0) >= 2, step.log)
    step.cancel()
    assert count_active(spark_step)["jobs"] == 0


@pytest.mark.usefixtures("active_jobs")
def test_a_killed_step_is_over_when_its_jobs_are(sql_step: Begin, spark_step: Begin) -> None:
    step = sql_step(script=SLEEP)
    assert step.start() is None
    step.wait_for_jobs()
    step_process(step).kill()
    outcome = step.wait()
    assert outcome.ending is Ending.PLATFORM_ERROR
    assert count_active(spark_step) == {"jobs": 0, "tasks": 0}
    assert not list(host_of(step).registered())


def test_what_steps_held_is_given_back(sql_step: Begin, spark_step: Begin, code_folder: Path) -> None:
    (code_folder / "held.py").write_text(
        dedent(
            """
            from py4j.finalizer import ThreadSafeFinalizer
            from py4j.java_gateway import JavaObject

            def count(spark, params):
                client = spark.sparkContext._gateway._gateway_client
                server = JavaObject("GATEWAY_SERVER", client)
                # The server must not go with this reference to it.
                ThreadSafeFinalizer.remove_finalizer(f"{client.address}{client.port}GATEWAY_SERVER")
                return {"held": server.getGateway().getBindings().size()}
            """
        )
    )

    def held() -> int:
        return int(spark_step(main="held:count", held=0).run().outputs["held"])

    def open_catalog_files() -> int:
        process = psutil.Process(record_of(probe).jvm_pid)
        return sum(file.path.endswith("catalog.db") for file in process.open_files())

    probe = spark_step(main="held:count", held=0)
    probe.run()
    before, files = held(), open_catalog_files()
    for _ in range(3):
        step = sql_step(script="SHOW TABLES IN lake.db")
        assert step.run().ending is Ending.DONE, step.log()
    killed = sql_step(script=f"SHOW TABLES IN lake.db; {SLEEP}")
    assert killed.start() is None
    killed.wait_for_jobs()
    step_process(killed).kill()
    killed.wait()
    eventually(lambda: open_catalog_files() <= files)
    eventually(lambda: held() <= before + 20)


def test_a_dead_jvm_is_a_platform_error_and_the_next_attempt_gets_a_new_one(sql_step: Begin) -> None:
    step = sql_step(script=SLEEP)
    assert step.start() is None
    step.wait_for_jobs()
    before = record_of(step)
    os.kill(before.jvm_pid, signal.SIGKILL)
    outcome = step.wait()
    assert outcome.ending is Ending.PLATFORM_ERROR
    assert outcome.error is not None
    assert outcome.error.code == "SPARK_LOST"
    again = sql_step(script="SELECT 3 AS n", n=0)
    assert again.run().outputs == {"n": 3}, again.log()
    assert record_of(again).jvm_pid != before.jvm_pid


def test_a_dead_host_takes_its_jvm_along(sql_step: Begin) -> None:
    step = sql_step(script="SELECT 1")
    assert step.run().ending is Ending.DONE
    before = record_of(step)
    os.kill(before.pid, signal.SIGKILL)
    eventually(lambda: not psutil.pid_exists(before.jvm_pid))
    # Two steps that come at once start one.
    steps = [sql_step(script="SELECT 4 AS n", n=0) for _ in range(2)]
    for each in steps:
        assert each.start() is None
    assert [each.wait().outputs for each in steps] == [{"n": 4}, {"n": 4}]
    assert len(list(hosts_folder(step.context.settings.home).glob("*"))) == 1


@contextmanager
def other_home(settings: Settings, home: Path, **changes: object) -> Iterator[Settings]:
    spark = settings.spark.model_copy(update=changes)
    other = settings.model_copy(update={"home": home, "catalogs": {}, "spark": spark})
    try:
        yield other
    finally:
        stop(other)


@pytest.mark.slow
def test_a_host_that_nobody_uses_leaves(step_settings: Settings, tmp_path: Path) -> None:
    with other_home(step_settings, tmp_path / "home", idle_timeout=timedelta(seconds=1)) as settings:
        step = attempt(settings, Sql(), tmp_path / "attempts", script="SELECT 5 AS n", n=0)
        assert step.run().outputs == {"n": 5}, step.log()
        host = next(hosts_folder(settings.home).glob("*"))
        eventually(lambda: not HostFolder(host).is_alive())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"), [("spark.driver.memory", "far too much"), ("spark.master", "nowhere")]
)
def test_a_spark_that_does_not_start_says_why(
    step_settings: Settings, tmp_path: Path, key: str, value: str
) -> None:
    conf = {**step_settings.spark.conf, key: value}
    with other_home(step_settings, tmp_path / "home", conf=conf) as settings:
        step = attempt(settings, Sql(), tmp_path / "attempts", script="SELECT 1")
        outcome = step.run()
    assert outcome.ending is Ending.PLATFORM_ERROR
    assert outcome.error is not None
    assert outcome.error.code == "SPARK_FAILED"
    assert "Spark did not start" in outcome.error.message
    assert "Traceback" not in step.log()
