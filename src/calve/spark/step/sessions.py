"""The session of a step, in each of the three modes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calve.spark.host.connecting import connect
from calve.spark.host.folder import HostFolder, HostRecord
from calve.spark.scans import sql_store
from calve.spark.step.board import Meter, NoMeter
from calve.spark.step.conf import set_conf
from calve.spark.step.imports import look_into_no_jars, use_no_numpy_before_its_time
from calve.spark.step.meter import JobMeter
from calve.spark.step.script import Say
from calve.spark.step.spec import StepSpec


@dataclass(slots=True)
class Session:
    """A session, and how to know what goes on in it."""

    spark: Any
    meter: Meter


class Sessions:
    """Opens the session that a spec asks for."""

    def __init__(self, spec: StepSpec, say: Say) -> None:
        self._spec = spec
        self._say = say
        self._record: HostRecord | None = None

    def is_gone(self) -> bool:
        """True if the embedded JVM was there and does not listen any more."""
        return self._record is not None and not self._record.answers()

    @contextmanager
    def opened(self) -> Iterator[Session]:
        """The session, with the step's settings and views."""
        match self._spec.session:
            case "embedded":
                yield from self._embedded()
            case "connect":
                yield from self._connect()
            case "submit":
                yield from self._submitted()

    def _with_views(self, spark: Any) -> Any:
        for name, query in self._spec.views.items():
            spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {query}")
        return spark

    def _embedded(self) -> Iterator[Session]:
        folder = HostFolder(Path(self._spec.host or ""))
        self._record, registration = connect(folder, self._spec.attempt, self._say)
        use_no_numpy_before_its_time()
        from calve.spark.step.attached import attached

        with attached(self._spec, self._record, registration) as spark:
            set_conf(spark, self._spec.spark_conf, "the embedded Spark, which steps share")
            yield Session(self._with_views(spark), _job_meter(spark, self._spec.attempt))

    def _connect(self) -> Iterator[Session]:
        from calve.spark.step.remote import remote_session

        with remote_session(self._spec) as spark:
            set_conf(spark, self._spec.spark_conf, "a Spark Connect session")
            yield Session(self._with_views(spark), NoMeter())

    def _submitted(self) -> Iterator[Session]:
        from pyspark.sql import SparkSession

        builder: Any = SparkSession.builder
        spark = builder.getOrCreate()
        look_into_no_jars(spark.sparkContext)
        spark.sparkContext.setJobGroup(self._spec.attempt, self._spec.attempt, True)
        try:
            yield Session(self._with_views(spark), _job_meter(spark, self._spec.attempt))
        finally:
            spark.stop()


def _job_meter(spark: Any, group: str) -> JobMeter:
    context = spark.sparkContext
    tag = str(spark._jsparkSession.sessionJobTag())
    return JobMeter(context._gateway, context._jsc.sc(), sql_store(spark), group, tag)
