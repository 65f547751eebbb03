"""Putting a marker on the snapshots of a statement, and of no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from calve.spark.once.scope import STATEMENT_PROPERTY
from calve.spark.once.tables import is_remote

_SESSION_PREFIX = "spark.sql.iceberg.snapshot-property."
#: The setting of a session, and the option of a DataFrame's writer.
SESSION_KEY = f"{_SESSION_PREFIX}{STATEMENT_PROPERTY}"
WRITER_KEY = f"snapshot-property.{STATEMENT_PROPERTY}"
_ABSENT = ("java.lang.ClassNotFoundException", "java.lang.NoSuchFieldException")
_COMMIT_METADATA = "org.apache.iceberg.spark.CommitMetadata"


@contextmanager
def marked(spark: Any, marker: str, name: str = STATEMENT_PROPERTY) -> Iterator[None]:
    """Every snapshot that this thread's SQL makes within the block has the marker, as the property `name`.

    The setting of the session does not reach deletes that drop whole files: Iceberg commits those with what
    it keeps for the thread. On a server of Spark Connect that cannot be set, and such deletes have no marker.
    """
    session_key = f"{_SESSION_PREFIX}{name}"
    spark.conf.set(session_key, marker)
    of_thread = None if is_remote(spark) else _thread_properties(spark)
    try:
        if of_thread is not None:
            of_thread.set(_java_map(spark, {name: marker}))
        yield
    finally:
        if of_thread is not None:
            of_thread.set(_java_map(spark, {}))
        spark.conf.unset(session_key)


def _thread_properties(spark: Any) -> Any:
    """Where Iceberg keeps what a thread adds to its snapshots; None in a version that has no such place."""
    from py4j.protocol import Py4JJavaError

    jvm = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        field = loader.loadClass(_COMMIT_METADATA).getDeclaredField("COMMIT_PROPERTIES")
    except Py4JJavaError as error:
        if error.java_exception.getClass().getName() not in _ABSENT:
            raise
        return None
    field.setAccessible(True)
    return field.get(None)


def _java_map(spark: Any, entries: dict[str, str]) -> Any:
    made = spark._jvm.java.util.HashMap()
    for key, value in entries.items():
        made.put(key, value)
    return made
