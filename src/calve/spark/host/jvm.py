"""What a host does inside its JVM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from calve.spark.jobs import job_numbers, stages_of

#: Threads of a step in the JVM have this in front of its attempt in their names.
THREAD_PREFIX = "calve-step-"
SESSION_CLASS = "org.apache.spark.sql.classic.SparkSession"
_ICEBERG_CATALOG = "org.apache.iceberg.spark.SparkCatalog"
# References to classes and packages are not counted by the JVM.
_OBJECT = "o"
_REASON = "the step was cancelled"


@dataclass(frozen=True, slots=True)
class HostJvm:
    """The JVM of this process."""

    gateway: Any
    context: Any
    session: Any
    #: Kept: with the last reference to it the server would go.
    server: Any
    #: All objects of the JVM that some Python has a reference to, by their ids.
    bindings: Any

    @classmethod
    def of_this_process(cls) -> HostJvm:
        """The JVM that was started last, with a first session in it, which those of all steps come from."""
        from py4j.java_gateway import JavaObject
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        builder: Any = SparkSession.builder
        session = builder.getOrCreate()
        gateway: Any = SparkContext._gateway
        server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
        bindings = server.getGateway().getBindings()
        return cls(gateway, session.sparkContext._jsc.sc(), session, server, bindings)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.gateway.gateway_parameters.port)

    @property
    def secret(self) -> str:
        """What opens it."""
        return str(self.gateway.gateway_parameters.auth_token)

    @property
    def spark_version(self) -> str:
        """The version of Spark."""
        return str(self.session.version)

    def warm_up(self) -> None:
        """Load what every step needs, so that the first one does not wait for it."""
        self.session.newSession().sql("SELECT count(*) FROM range(1) WHERE id = 0").collect()

    def cancel_jobs(self, attempt: str, tag: str | None) -> None:
        """Cancel the jobs of a step, and those that it is about to begin."""
        self.context.cancelJobGroupAndFutureJobs(attempt, _REASON)
        if tag is not None:
            self.context.cancelJobsWithTag(tag, _REASON)

    def is_busy_for(self, attempt: str, tag: str | None, *, interrupt: bool) -> bool:
        """True while a thread or a task works for a step; `interrupt` tells the threads to end."""
        threads = [
            thread
            for thread in self.gateway.jvm.java.lang.Thread.getAllStackTraces().keySet()
            if thread.getName() == THREAD_PREFIX + attempt
        ]
        if interrupt:
            for thread in threads:
                thread.interrupt()
        return bool(threads) or self._runs_tasks(attempt, tag)

    def _runs_tasks(self, attempt: str, tag: str | None) -> bool:
        numbers = job_numbers(self.gateway, self.context, attempt, tag)
        jobs = [self.context.statusStore().job(number) for number in numbers]
        return any(stage.numActiveTasks() for job in jobs for stage in stages_of(self.context, job))

    def foreign_objects(self) -> set[str]:
        """The ids of all objects in the JVM that the Python of a step holds, or held."""
        held = str(self.bindings.keySet().toString()).strip("[]").split(", ")
        return {key for key in held if key.startswith(_OBJECT)} - set(live_objects(self.gateway))

    def forget(self, objects: set[str]) -> None:
        """Give back what steps that are gone have left: connections, cached tables, references."""
        self.session._jsparkSession.sharedState().cacheManager().clearCache()
        for key in objects:
            left = self.bindings.get(key)
            if hasattr(left, "getClass") and left.getClass().getName() == SESSION_CLASS:
                close_catalogs(self.gateway.jvm, left)
        release(self.gateway, objects)


def live_objects(gateway: Any) -> list[str]:
    """The ids of the objects that this Python has a reference to."""
    from py4j.finalizer import ThreadSafeFinalizer

    client = gateway._gateway_client
    prefix = f"{client.address}{client.port}"
    return [key.removeprefix(prefix) for key in list(ThreadSafeFinalizer.finalizers)]


def release(gateway: Any, objects: Iterable[str]) -> None:
    """Let the JVM forget references: it keeps them for ever if their Python ends without a word."""
    for key in objects:
        gateway._gateway_client.garbage_collect_object(key, enqueue=False)


def close_catalogs(jvm: Any, session: Any) -> None:
    """Close the connections of a session's catalogs, which Spark leaves open."""
    manager = session.sessionState().catalogManager()
    names = manager.listCatalogs(jvm.scala.Option.empty())
    for name in str(names.mkString(",")).split(","):
        catalog = manager.catalog(name)
        if catalog.getClass().getName() == _ICEBERG_CATALOG:
            inner = catalog.icebergCatalog()
            if isinstance_of(jvm, inner, "java.io.Closeable"):
                inner.close()


def isinstance_of(jvm: Any, instance: Any, name: str) -> bool:
    """True if an object of the JVM is of a class or interface."""
    return bool(jvm.java.lang.Class.forName(name).isInstance(instance))
