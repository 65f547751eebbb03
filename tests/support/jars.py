"""Jars with a classifier and their dependencies, fetched by the Ivy that Spark brings.

`spark.jars.packages` cannot name a classifier, which the jars of Iceberg's own tests have.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Artifact:
    """The jars of one module of a Maven repository; the classifier "" is the main jar."""

    group: str
    name: str
    version: str
    classifiers: tuple[str, ...] = ("",)
    transitive: bool = True


def resolve_jars(spark: SparkSession, artifacts: list[Artifact]) -> list[Path]:
    """The jars of all artefacts and of what they depend on, on the local disk."""
    jvm: Any = spark.sparkContext._jvm
    ivy_home = spark.sparkContext.getConf().get("spark.jars.ivy")
    maven: Any = getattr(getattr(jvm.org.apache.spark.util, "MavenUtils$"), "MODULE$")
    settings = maven.buildIvySettings(
        jvm.scala.Option.apply(None), jvm.scala.Option.apply(ivy_home), False, jvm.System.err
    )
    ivy = jvm.org.apache.ivy.Ivy.newInstance(settings)
    options = jvm.org.apache.ivy.core.resolve.ResolveOptions()
    options.setConfs(_string_array(spark, "default"))
    options.setLog("quiet")
    options.setOutputReport(False)
    report = ivy.resolve(_module(spark, artifacts), options)
    if report.hasError():
        raise RuntimeError("; ".join(report.getAllProblemMessages()))
    return [Path(found.getLocalFile().toString()) for found in report.getAllArtifactsReports()]


def _module(spark: SparkSession, artifacts: list[Artifact]) -> Any:
    jvm: Any = spark.sparkContext._jvm
    descriptor = jvm.org.apache.ivy.core.module.descriptor
    ids = jvm.org.apache.ivy.core.module.id
    module = descriptor.DefaultModuleDescriptor.newDefaultInstance(
        ids.ModuleRevisionId.newInstance("calve", "-".join(a.name for a in artifacts), "1")
    )
    for artifact in artifacts:
        revision = ids.ModuleRevisionId.newInstance(artifact.group, artifact.name, artifact.version)
        wanted = descriptor.DefaultDependencyDescriptor(module, revision, False, False, artifact.transitive)
        wanted.addDependencyConfiguration("default", "default(runtime)")
        for classifier in artifact.classifiers:
            extra = {"classifier": classifier} if classifier else {}
            jar = descriptor.DefaultDependencyArtifactDescriptor(
                wanted, artifact.name, "jar", "jar", None, extra
            )
            wanted.addDependencyArtifact("default", jar)
        module.addDependency(wanted)
    return module


def _string_array(spark: SparkSession, *values: str) -> Any:
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.String, len(values))
    for index, value in enumerate(values):
        array[index] = value
    return array
