"""Spark steps on a Spark Connect server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from calve.settings import Settings
from calve.spark.conf import spark_conf
from calve.spark.java import find_java
from calve.steps.contract import Ending
from support.guarded import GuardedSql
from support.spark_steps import eventually

if TYPE_CHECKING:
    from .conftest import Begin

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

SERVER = """
import json, sys
from pyspark.sql import SparkSession

port, where, catalogs = sys.argv[1:]
builder = SparkSession.builder
for key, value in json.loads(catalogs).items():
    builder = builder.config(key, value)
spark = (
    builder.master("local[2]")
    .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    .config("spark.connect.grpc.binding.port", port)
    .config("spark.driver.memory", "1g")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", where)
    .getOrCreate()
)
for line in sys.stdin:
    print(len(spark.sparkContext.statusTracker().getActiveJobsIds()), flush=True)
"""


class Server:
    """A Spark Connect server, and what runs in it."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.url = f"sc://127.0.0.1:{port}"

    def active_jobs(self) -> int:
        assert self.process.stdin
        assert self.process.stdout
        print("count", file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def server(step_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("connect")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    catalogs = json.dumps(spark_conf(step_settings))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(port), str(folder / "warehouse"), catalogs],
            env=os.environ | {"JAVA_HOME": str(find_java(step_settings).home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
        )
    server = Server(process, port)
    assert server.active_jobs() == 0, (folder / "log").read_text()
    yield server
    process.communicate()


def test_a_chunk_of_a_backfill_writes_its_branch_and_has_its_views(
    sql_step: Begin, chunk_script: str, server: Server
) -> None:
    step = sql_step(script=chunk_script, spark_url=server.url, session="connect", branch="", n=0)
    assert step.run().outputs == {"branch": "backfill_1", "n": 7}, step.log()


def test_a_script_runs_on_the_server_and_gives_outputs(sql_step: Begin, server: Server) -> None:
    step = sql_step(
        script="CREATE TEMPORARY VIEW v AS SELECT id FROM range(10); SELECT count(*) AS n FROM v",
        spark_url=server.url,
        spark_conf={"spark.sql.shuffle.partitions": "3"},
        n=0,
    )
    outcome = step.run()
    assert outcome.outputs == {"n": 10}, step.log()
    other = sql_step(script="SELECT * FROM v", spark_url=server.url).run()
    assert other.ending is Ending.USER_ERROR
    assert other.error is not None
    assert "TABLE_OR_VIEW_NOT_FOUND" in other.error.message


def test_a_function_gets_the_session(spark_step: Begin, server: Server, code_folder: Path) -> None:
    (code_folder / "connecting.py").write_text(
        dedent(
            """
            from pyspark.sql import SparkSession

            def count(spark, params):
                assert SparkSession.builder.getOrCreate() is spark
                return {"n": spark.range(5).count()}
            """
        )
    )
    step = spark_step(main="connecting:count", spark_url=server.url, n=0)
    assert step.run().outputs == {"n": 5}, step.log()


def test_a_cancelled_step_is_interrupted_on_the_server(sql_step: Begin, server: Server) -> None:
    step = sql_step(
        script="SELECT reflect('java.lang.Thread', 'sleep', 600000L) FROM range(2)", spark_url=server.url
    )
    assert step.start() is None
    eventually(lambda: step.poll() is None and server.active_jobs() == 1, step.log)
    step.cancel()
    eventually(lambda: server.active_jobs() == 0)


def test_static_settings_are_refused(sql_step: Begin, server: Server) -> None:
    outcome = sql_step(
        script="SELECT 1", spark_url=server.url, spark_conf={"spark.sql.warehouse.dir": "x"}
    ).run()
    assert outcome.error is not None
    assert outcome.error.code == "SPARK_CONF_FIXED"


def test_a_server_that_is_not_there_is_a_platform_error(sql_step: Begin) -> None:
    step = sql_step(script="SELECT 1", spark_url="sc://127.0.0.1:1")
    outcome = step.run()
    assert outcome.ending is Ending.PLATFORM_ERROR, step.log()


def test_an_address_of_another_kind_is_refused(sql_step: Begin) -> None:
    outcome = sql_step(script="SELECT 1", session="connect", spark_url="spark://somewhere").run()
    assert outcome.ending is Ending.FATAL_ERROR
    assert outcome.error is not None
    assert outcome.error.code == "SPARK_URL_INVALID"


def test_writes_under_a_capture_land_once(begin: Begin, server: Server, step_settings: Settings) -> None:
    table = "lake.db.written_by_connect"
    script = f"CREATE TABLE IF NOT EXISTS {table} (n BIGINT); INSERT INTO {table} VALUES (1), (2)"
    guarded = GuardedSql(step_settings, "db.connect_source")
    for attempt in (1, 2):
        step = begin(guarded, script=script, session="connect", spark_url=server.url)
        outcome = step.run()
        assert outcome.ending is Ending.DONE, step.log()
        assert [signal.name for signal in outcome.signals] == [f"table:{table}"]
        assert ("has landed in snapshot" in step.log()) == (attempt == 2)
    assert guarded.rows(table) == [1, 2]
