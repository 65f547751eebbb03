"""Spark for the Python blocks of a page: a session of the tests' Spark, on the lake of the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from calve.settings import load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def session_on(spark: SparkSession, home: Path) -> Iterator[SparkSession]:
    """A session that `SparkSession.builder` finds too."""
    from pyspark.sql import SparkSession

    from calve.spark.session import join

    own = spark.newSession()
    join(own, load_settings(home))
    with mock.patch.object(SparkSession, "_instantiatedSession", own):
        yield own


def stop_spark(home: Path) -> None:
    """End the Spark that steps of a home have started."""
    from calve.spark import host

    host.stop(load_settings(home))
