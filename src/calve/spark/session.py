"""Spark sessions in this process, on the configured lake."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calve import logs
from calve.errors import CalveError, FailedError, UnreachableError, UsageError
from calve.spark.conf import spark_conf
from calve.spark.java import find_java

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    from calve.settings import Settings

log = logs.get_logger(__name__)

_UNRESOLVED = re.compile(r"unresolved dependency: ([^\s:]+)")
_FAILURE = re.compile(r"^(?:Error: |Exception in thread |.*(?:Exception|Error): ).*$", re.MULTILINE)


def session(settings: Settings, **overrides: str) -> SparkSession:
    """The Spark session of this process, started if there is none yet.

    `overrides` are Spark settings, put above all others. The first start fetches Iceberg's
    jars. The JVM's own output goes to `spark.log` in the home.
    Raises `UsageError` EXTRA_MISSING or JAVA_NOT_FOUND, `UnreachableError` JARS_UNREACHABLE,
    `FailedError` SPARK_FAILED.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UsageError("EXTRA_MISSING", "PySpark is not installed", "pip install 'calve[spark]'") from error

    conf = _session_conf(settings) | overrides
    # A JVM outlives its sessions, and serves the next one.
    if SparkContext._gateway is None:
        _start(settings, conf)
    builder: Any = SparkSession.builder
    started: SparkSession = builder.config(map=conf).getOrCreate()
    return started


def join(spark: SparkSession, settings: Settings) -> None:
    """Make the configured catalogs known to a session that is already running.

    The packages that they need must have been there at its start.
    """
    for key, value in spark_conf(settings).items():
        if key.startswith("spark.sql.catalog."):
            spark.conf.set(key, value)


def _session_conf(settings: Settings) -> dict[str, str]:
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


def _start(settings: Settings, conf: dict[str, str]) -> None:
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.errors import PySparkRuntimeError

    java = find_java(settings)
    log.info("starting Spark", java=str(java.home), version=java.version, origin=java.origin)
    os.environ["JAVA_HOME"] = str(java.home)
    # Python workers must be the Python of the driver, whatever is first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _announce_download(conf)
    output = settings.ensure_home() / "spark.log"
    launch: Any = java_gateway.launch_gateway
    spark_settings: SparkConf = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    try:
        with output.open("wb") as stream:
            gateway = launch(spark_settings, {"stdout": stream, "stderr": stream})
    except PySparkRuntimeError as error:
        raise _start_failure(output) from error
    SparkContext(conf=spark_settings, gateway=gateway)


def _announce_download(conf: dict[str, str]) -> None:
    jars = Path(conf["spark.jars.ivy"]) / "jars"
    missing = [
        name
        for name in filter(None, conf["spark.jars.packages"].split(","))
        if not (jars / _jar(name)).exists()
    ]
    if missing:
        names = ", ".join(name.split(":")[1] for name in missing)
        logs.notice(f"calve: fetching {names} for Spark, this once; it may take a minute …")


def _jar(package: str) -> str:
    """The name that Ivy gives to the jar of `group:artifact:version`."""
    group, artifact, version = package.split(":")[:3]
    return f"{group}_{artifact}-{version}.jar"


def _start_failure(output: Path) -> CalveError:
    text = output.read_text(encoding="utf-8", errors="replace")
    if unresolved := _UNRESOLVED.search(text):
        return UnreachableError(
            "JARS_UNREACHABLE",
            f"Spark needs {unresolved[1]}, which could not be fetched",
            f"connect to the network for the first start, or set spark.jars; details are in {output}",
        )
    failure = _FAILURE.search(text)
    reason = failure[0].strip() if failure else "its process ended"
    return FailedError("SPARK_FAILED", f"Spark did not start: {reason}", f"see {output}")
