"""Turning the step's process into `spark-submit`, on any master."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from calve.errors import UsageError
from calve.spark.step.spec import MAIN_FILE, PROPERTIES_FILE, StepSpec

#: In the environment of what spark-submit runs: there the session is Spark's own.
INSIDE = "CALVE_SPARK_SUBMITTED"

_MAIN = """\
import sys

from calve.spark.step.__main__ import main

sys.exit(main(sys.argv[1]))
"""


def become_spark_submit(spec: StepSpec, spec_file: Path) -> None:
    """Put `spark-submit` in the place of this process; what it runs comes back to `main`."""
    from calve.settings import Settings, SparkSettings
    from calve.spark.java import find_java

    java_home = None if spec.java_home is None else Path(spec.java_home)
    java = find_java(Settings(home=Path(spec.home), spark=SparkSettings(java_home=java_home)))
    environment = os.environ | {"JAVA_HOME": str(java.home), INSIDE: "1", "SPARK_HOME": str(_spark_home())}
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    command = submit_command(spec, spec_file)
    sys.stdout.flush()
    os.execve(command[0], command, environment)


def submit_command(spec: StepSpec, spec_file: Path) -> list[str]:
    """The command line. Settings go through a file, since they hold secrets.

    On a cluster's own driver there is no Calve: only a script can go there.
    """
    folder = Path(spec.folder)
    submit = _spark_home() / "bin" / "spark-submit"
    command = [str(submit), "--properties-file", str(folder / PROPERTIES_FILE)]
    if spec.spark_conf.get("spark.submit.deployMode") == "cluster":
        if spec.file is None:
            raise UsageError(
                "SPARK_CLUSTER_NEEDS_FILE",
                "with spark.submit.deployMode cluster a step can only run a 'file'",
                "write the work as a PySpark script, or leave the deploy mode at client",
            )
        return [*command, spec.file, *spec.args]
    main = folder / MAIN_FILE
    main.write_text(_MAIN, encoding="utf-8")
    return [*command, str(main), str(spec_file)]


def _spark_home() -> Path:
    if home := os.environ.get("SPARK_HOME"):
        return Path(home)
    try:
        import pyspark
    except ImportError as error:
        raise UsageError(
            "EXTRA_MISSING",
            "there is no spark-submit: no SPARK_HOME, no PySpark",
            "pip install 'calve[spark]'",
        ) from error
    return Path(pyspark.__file__).parent
