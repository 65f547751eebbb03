"""A session on a Spark Connect server, known by the attempt's own id."""

from __future__ import annotations

import importlib.util
import os
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from calve.errors import UnreachableError, UsageError
from calve.spark.step.spec import StepSpec

_NEEDED = ("grpc", "grpc_status", "google.protobuf", "pandas", "pyarrow")
_DEFAULT_PORT = 15002
_CONNECT_S = 10.0
#: About a minute in all.
_RETRIES = 12
_LONGEST_WAIT_MS = 8000


@contextmanager
def remote_session(spec: StepSpec) -> Iterator[Any]:
    """The session; when it is left, the server forgets it."""
    spark = open_session(spec)
    try:
        yield spark
    finally:
        spark.stop()


def interrupt(spec: StepSpec) -> None:
    """End all that an attempt has running on the server, although its process is gone."""
    spark = open_session(spec)
    spark.interruptAll()
    spark.stop()


def open_session(spec: StepSpec) -> Any:
    """The session of this attempt: opened twice it is the same one."""
    _check_installed()
    _check_reachable(spec.url or "")
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # By this a script that asks for a session gets this one.
    os.environ["SPARK_REMOTE"] = with_session_id(spec.url or "", spec.attempt)
    builder: Any = SparkSession.builder
    spark = builder.getOrCreate()
    spark.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES, max_backoff=_LONGEST_WAIT_MS)])
    return spark


def with_session_id(url: str, attempt: str) -> str:
    """The URL with the id of a session that follows from the attempt."""
    session = uuid.uuid5(uuid.NAMESPACE_URL, f"calve:{attempt}")
    base = url.rstrip("/;")
    separator = ";" if "/;" in base else "/;"
    return f"{base}{separator}session_id={session}"


def _check_reachable(url: str) -> None:
    """The client itself would try for many minutes before it says anything."""
    address = urlsplit(url)
    where = (address.hostname or "", address.port or _DEFAULT_PORT)
    try:
        socket.create_connection(where, _CONNECT_S).close()
    except OSError as error:
        raise UnreachableError(
            "SPARK_UNREACHABLE",
            f"no Spark Connect server answers at {where[0]}:{where[1]}: {error}",
            "start the server, or correct spark_url",
        ) from error


def _check_installed() -> None:
    missing = [name for name in _NEEDED if not _is_installed(name)]
    if missing:
        raise UsageError(
            "EXTRA_MISSING",
            f"Spark Connect needs {', '.join(missing)}, not installed here",
            "pip install 'calve[spark-connect]'",
        )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
