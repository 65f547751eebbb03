"""What all tests share: one lake, one Spark, one of each server, each started when first asked for."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from calve.lake.catalogs import Lake
from calve.settings import Settings, load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.rest import RestServer
    from support.s3 import S3Server

MARKS_BY_FIXTURE = {"spark": "jvm", "postgres_url": "postgres", "rest_server": "rest", "s3_server": "s3"}

hypothesis_settings.register_profile(
    "calve",
    print_blob=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# For `make test-fast`: fewer examples, the same properties.
hypothesis_settings.register_profile("fast", parent=hypothesis_settings.get_profile("calve"), max_examples=10)
hypothesis_settings.load_profile("calve")

_numbers = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of the property tests here, so that it can be printed; make JVMs quick to start."""
    # For all JVMs that tests start, by whatever way: none lives long enough to be worth a better compiler.
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))


def pytest_report_header(config: pytest.Config) -> str:
    return f"property tests: --hypothesis-seed={config.option.hypothesis_seed}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what their fixtures start, so that no mark can be forgotten.

    With several processes, one of them has the Spark of the run, and one runs the tests that start JVMs of
    their own: these wait more than they work, and no more than two JVMs of tests are there at a time.
    """
    for item in items:
        for fixture, mark in MARKS_BY_FIXTURE.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif item.get_closest_marker("jvm"):
            item.add_marker(pytest.mark.xdist_group("jvm"))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches a test."""
    for name in list(os.environ):
        if name.startswith("CALVE_") or name == "COLUMNS":
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def lake_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The settings of the embedded lake that the whole run shares."""
    return load_settings(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="session")
def lake(lake_settings: Settings) -> Lake:
    """The embedded lake that the whole run shares; `spark` sees the same tables."""
    return Lake(lake_settings)


@pytest.fixture
def namespace(lake: Lake) -> str:
    """A new, empty namespace in the shared lake: a test's tables are its own."""
    name = f"ns{next(_numbers)}"
    lake.catalog("lake").create_namespace(name)
    return name


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of this test alone: nothing is in it yet."""
    return tmp_path / "home"


@pytest.fixture(scope="session")
def spark(lake_settings: Settings) -> Iterator[SparkSession]:
    """The one Spark of the run, on the shared lake."""
    from support.spark import start_spark

    session = start_spark(lake_settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """The one PostgreSQL of the run."""
    from support.postgres import postgres_server

    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server_url: str) -> str:
    """The URL of a new, empty PostgreSQL database."""
    from support.postgres import create_database

    return create_database(postgres_server_url, f"calve{next(_numbers)}")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """The one S3 server of the run."""
    from support.s3 import s3_server

    with s3_server() as server:
        yield server


@pytest.fixture(scope="session")
def rest_server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """The one Iceberg REST catalog of the run; Spark's JVM fetches its jars."""
    from support.rest import rest_server

    with rest_server(spark, tmp_path_factory.mktemp("rest")) as server:
        yield server
