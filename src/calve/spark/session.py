"""Spark sessions in this process, on the configured lake."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calve import logs
from calve.errors import CalveError, FailedError, UnreachableError, UsageError
from calve.spark.conf import spark_conf
from calve.spark.java import Java, find_java
from calve.spark.packages import announce_download, fetching
from calve.spark.properties import to_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from calve.settings import Settings

log = logs.get_logger(__name__)

#: A jar of which there is no news, or whose download broke off.
_UNFETCHED = re.compile(r"(?:unresolved dependency|download failed): ([^\s:!]+)")
_ATTEMPTS = 3
_FAILURE = re.compile(r"^(?:Error: |Exception in thread |.*(?:Exception|Error): ).*$", re.MULTILINE)


def session(settings: Settings, **overrides: str) -> SparkSession:
    """The Spark session of this process, started if there is none yet.

    `overrides` are Spark settings, put above all others. The first start fetches Iceberg's
    jars. The JVM's own output goes to `spark.log` in the home.
    Raises `UsageError` EXTRA_MISSING or JAVA_NOT_FOUND, `UnreachableError` JARS_UNREACHABLE,
    `FailedError` SPARK_FAILED.
    """
    check_installed()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    conf = session_conf(settings) | overrides
    # A JVM outlives its sessions, and serves the next one.
    if SparkContext._gateway is None:
        output = settings.ensure_home() / "spark.log"
        output.unlink(missing_ok=True)
        start_context(find_java(settings), conf, output)
    builder: Any = SparkSession.builder
    started: SparkSession = builder.config(map=conf).getOrCreate()
    return started


def check_installed() -> None:
    """Raises `UsageError` EXTRA_MISSING if there is no PySpark."""
    if importlib.util.find_spec("pyspark") is None:
        raise UsageError("EXTRA_MISSING", "PySpark is not installed", "pip install 'calve[spark]'")


def join(spark: SparkSession, settings: Settings) -> None:
    """Make the configured catalogs known to a session that is already running.

    The packages that they need must have been there at its start.
    """
    for key, value in spark_conf(settings).items():
        if key.startswith("spark.sql.catalog."):
            spark.conf.set(key, value)


def session_conf(settings: Settings) -> dict[str, str]:
    """All that a Spark of these settings is started with. It holds the catalogs' secrets."""
    own = {
        "spark.app.name": "calve",
        "spark.master": settings.spark.master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(settings.home / "spark-warehouse"),
        # Java takes the home of the user database, which need not be $HOME.
        "spark.jars.ivy": str(Path.home() / ".ivy2.5.2"),
    }
    return own | spark_conf(settings)


def start_context(java: Java, conf: dict[str, str], output: Path) -> Any:
    """Start a JVM with a Spark context in it; its output goes to a file. Gives its process.

    Raises `UnreachableError` JARS_UNREACHABLE, `FailedError` SPARK_FAILED.
    """
    from pyspark import SparkConf, SparkContext

    log.info("starting Spark", java=str(java.home), version=java.version, origin=java.origin)
    os.environ["JAVA_HOME"] = str(java.home)
    # Python workers must be the Python of the driver, whatever is first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    announce_download(conf)
    gateway = launch_jvm(conf, output)
    SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(conf.items())), gateway=gateway)
    return gateway.proc


def launch_jvm(conf: dict[str, str], output: Path) -> Any:
    """The gateway of a new JVM. Downloads break off now and then: what is not there yet is fetched again."""
    from pyspark import java_gateway
    from pyspark.errors import PySparkRuntimeError

    launch: Any = java_gateway.launch_gateway
    for attempt in range(1, _ATTEMPTS + 1):
        with output.open("ab") as stream:
            begin = stream.tell()
            try:
                with fetching(conf), _submit_arguments(conf):
                    return launch(None, {"stdout": stream, "stderr": stream})
            except PySparkRuntimeError as error:
                failure = _start_failure(output, begin)
                if attempt == _ATTEMPTS or not isinstance(failure, UnreachableError):
                    raise failure from error
                log.warning("a jar could not be fetched, trying again", why=failure.message, attempt=attempt)
    raise AssertionError("the last attempt gives or raises")


@contextmanager
def _submit_arguments(conf: dict[str, str]) -> Iterator[None]:
    """Hand the settings over as a file: arguments of a process are seen by everybody on the machine."""
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".conf") as file:
        file.write(to_properties(conf))
        file.flush()
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {file.name} {before or 'pyspark-shell'}"
        try:
            yield
        finally:
            if before is None:
                del os.environ["PYSPARK_SUBMIT_ARGS"]
            else:
                os.environ["PYSPARK_SUBMIT_ARGS"] = before


def _start_failure(output: Path, begin: int) -> CalveError:
    """What went wrong, by what the JVM has printed from a place in its output on."""
    text = output.read_bytes()[begin:].decode("utf-8", "replace")
    if unfetched := _UNFETCHED.search(text):
        return UnreachableError(
            "JARS_UNREACHABLE",
            f"Spark needs {unfetched[1]}, which could not be fetched",
            f"connect to the network for the first start, or set spark.jars; details are in {output}",
        )
    failure = _FAILURE.search(text)
    reason = failure[0].strip() if failure else "its process ended"
    return FailedError("SPARK_FAILED", f"Spark did not start: {reason}", f"see {output}")
