"""Iceberg's own REST catalog server, in a JVM of its own on a loopback port."""

from __future__ import annotations

import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from support.jars import Artifact, resolve_jars
from support.postgres import free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ICEBERG = "org.apache.iceberg"
# The newest version whose server was published.
_ICEBERG_VERSION = "1.11.0"
_JETTY_VERSION = "12.1.3"
_ARTIFACTS = [
    Artifact(_ICEBERG, "iceberg-core", _ICEBERG_VERSION, ("", "tests")),
    Artifact(_ICEBERG, "iceberg-api", _ICEBERG_VERSION, ("", "tests")),
    Artifact(_ICEBERG, "iceberg-open-api", _ICEBERG_VERSION, ("test-fixtures",), transitive=False),
    Artifact("org.eclipse.jetty.ee10", "jetty-ee10-servlet", _JETTY_VERSION),
    Artifact("org.eclipse.jetty.compression", "jetty-compression-server", _JETTY_VERSION),
    Artifact("org.eclipse.jetty.compression", "jetty-compression-gzip", _JETTY_VERSION),
    Artifact("org.xerial", "sqlite-jdbc", "3.50.3.0"),
]
_FROM_SPARK = ("hadoop-client-*.jar", "log4j-*.jar", "jcl-over-slf4j-*.jar")
_MAIN_CLASS = "org.apache.iceberg.rest.RESTCatalogServer"
_START_SECONDS = 60


@dataclass(frozen=True)
class RestServer:
    """A running REST catalog."""

    uri: str
    process: subprocess.Popen[bytes]


@contextmanager
def rest_server(spark: SparkSession, folder: Path) -> Iterator[RestServer]:
    """Run the server, with its database and warehouse in `folder`, until the block ends."""
    port = free_port()
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [_java(), "-Xmx256m", "-cp", _class_path(spark), _MAIN_CLASS],
            env=os.environ | _environment(folder, port),
            stdout=log,
            stderr=log,
        )
    try:
        uri = f"http://127.0.0.1:{port}"
        _wait_until_up(uri, process, folder / "server.log")
        yield RestServer(uri, process)
    finally:
        process.terminate()
        process.wait(timeout=_START_SECONDS)


def _java() -> str:
    """The Java that Spark itself runs on."""
    return str(Path(os.environ["JAVA_HOME"]) / "bin" / "java")


def _class_path(spark: SparkSession) -> str:
    import pyspark

    own = Path(pyspark.__file__).parent / "jars"
    shared = [jar for pattern in _FROM_SPARK for jar in own.glob(pattern)]
    return os.pathsep.join(str(jar) for jar in [*resolve_jars(spark, _ARTIFACTS), *shared])


def _environment(folder: Path, port: int) -> dict[str, str]:
    return {
        "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
        "CATALOG_URI": f"jdbc:sqlite:{folder}/rest.db",
        "CATALOG_WAREHOUSE": f"file://{folder}/warehouse",
        "CATALOG_JDBC_SCHEMA__VERSION": "V1",
        "CATALOG_REST_PORT": str(port),
    }


def _wait_until_up(uri: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{uri}/v1/config", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"the REST catalog did not start:\n{log.read_text(errors='replace')[-2000:]}")
