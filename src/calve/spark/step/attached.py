"""A session in the JVM of a host, for the length of this process.

Everything that would reach past the step, a `stop()` or `cancelAllJobs()` in a user's script, ends at the
step. Each thread of this process has a thread of its own in the JVM, which is marked as the step's.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.clientserver import FinalizerWorker
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from calve.spark.host.folder import HostRecord, Registration
from calve.spark.host.jvm import SESSION_CLASS, THREAD_PREFIX, close_catalogs, live_objects, release
from calve.spark.host.log_settings import LOG_PROPERTY
from calve.spark.step.board import ProgressThread
from calve.spark.step.code_stamp import code_stamp
from calve.spark.step.imports import look_into_no_jars
from calve.spark.step.spec import StepSpec

_OWN_THREADS = (FinalizerWorker, ProgressThread)


class AttachedContext(SparkContext):
    """The host's context as one step may use it."""

    _attempt: str
    _tag: str

    def stop(self) -> None:
        """Nothing: other steps use the context, and the session ends with the process."""

    def cancelAllJobs(self) -> None:  # noqa: N802  PySpark's name
        """Cancel the jobs of this step."""
        java: Any = self._jsc
        java.sc().cancelJobGroup(self._attempt)
        java.sc().cancelJobsWithTag(self._tag)


class AttachedSession(SparkSession):
    """A session of its own in the host's JVM."""

    def stop(self) -> None:
        """Nothing: other steps use the JVM, and the session ends with the process."""


@contextmanager
def attached(spec: StepSpec, record: HostRecord, registration: Registration) -> Iterator[SparkSession]:
    """A new session; when it is left, nothing of it is left in the JVM."""
    gateway = _connect(record)
    java_class = getattr(gateway.jvm, SESSION_CLASS)
    base = java_class.getDefaultSession().get()
    java_session = base.newSession()
    tag = str(java_session.sessionJobTag())
    registration.name_tag(tag)
    users_threads = _mark_threads(gateway, base.sparkContext(), java_session, spec)
    context = _open_context(gateway, base, spec)
    context._attempt, context._tag = spec.attempt, tag
    session = _open_session(context, java_session)
    try:
        yield session
    finally:
        close_catalogs(gateway.jvm, java_session)
        shutil.rmtree(str(context._temp_dir), ignore_errors=True)
        if not users_threads:
            # What other threads have begun may still run: then the host tidies up when this process is gone.
            release(gateway, live_objects(gateway))
            registration.drop()


def _connect(record: HostRecord) -> Any:
    os.environ["PYSPARK_GATEWAY_PORT"] = str(record.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = record.secret
    os.environ["PYSPARK_PYTHON"] = sys.executable
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    # What the user's code starts must not get at the host.
    del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    return gateway


def _open_context(gateway: Any, base: Any, spec: StepSpec) -> AttachedContext:
    java_context = gateway.jvm.JavaSparkContext(base.sparkContext())
    conf = SparkConf(_jvm=gateway.jvm, _jconf=java_context.getConf())
    context = AttachedContext(conf=conf, gateway=gateway, jsc=java_context)
    # PySpark's own would cancel the jobs of all steps.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    look_into_no_jars(context)
    search = [spec.search, *filter(None, [os.environ.get("PYTHONPATH")])]
    context.environment["PYTHONPATH"] = os.pathsep.join(search)
    # Workers are shared by steps with the same environment; those with older code must not be.
    context.environment["CALVE_CODE"] = "" if spec.script is not None else code_stamp(Path(spec.search))
    return context


def _open_session(context: AttachedContext, java_session: Any) -> AttachedSession:
    """The session of this process, and of no other: the default of the JVM stays the host's."""
    session = AttachedSession.__new__(AttachedSession)
    session._sc = context
    SparkSession._instantiatedSession = session
    AttachedSession.__init__(session, context, java_session)
    SparkSession._activeSession = session
    return session


def _mark_threads(gateway: Any, java_context: Any, java_session: Any, spec: StepSpec) -> set[str]:
    """Mark the JVM's thread of this thread, and of each that comes, as the step's.

    Gives the names of the threads that the user has started, as they come.
    """
    users_threads: set[str] = set()
    client = gateway._gateway_client
    make_connection = client._create_new_connection
    java_class = getattr(gateway.jvm, SESSION_CLASS)
    thread_class = gateway.jvm.java.lang.Thread
    log_context = gateway.jvm.org.slf4j.MDC

    def mark() -> None:
        thread_class.currentThread().setName(THREAD_PREFIX + spec.attempt)
        log_context.put(LOG_PROPERTY, spec.log)
        java_context.setLocalProperty(LOG_PROPERTY, spec.log)
        java_context.setJobGroup(spec.attempt, spec.attempt, True)
        java_class.setActiveSession(java_session)

    def make_marked_connection() -> Any:
        connection = make_connection()
        mark()
        current = threading.current_thread()
        if current is not threading.main_thread() and not isinstance(current, _OWN_THREADS):
            users_threads.add(current.name)
        return connection

    client._create_new_connection = make_marked_connection
    mark()
    return users_threads
