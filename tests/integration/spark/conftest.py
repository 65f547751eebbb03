"""One embedded Spark for all tests of Spark steps; it is ended with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from calve.lake.catalogs import Lake
from calve.settings import Settings, SparkSettings, StepSettings
from calve.spark.host import stop
from calve.spark.once.plan import WAP_BRANCH
from calve.steps import spark_spec
from calve.steps.incremental.chunks import ChunkSession
from calve.steps.spark import Spark
from calve.steps.sql import Sql
from support.spark_steps import Attempt, attempt

SMALL = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
}

Begin = Callable[..., Attempt]


@pytest.fixture(scope="session")
def step_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A home with an embedded Spark that the tests share."""
    home = tmp_path_factory.mktemp("steps") / "home"
    code = tmp_path_factory.mktemp("code")
    settings = Settings(
        home=home,
        spark=SparkSettings(master="local[2]", conf=SMALL),
        steps=StepSettings.model_validate({"grace": "5s", "directory": code}),
    )
    Lake(settings).catalog("lake").create_namespace("db")
    yield settings
    stop(settings)


@pytest.fixture
def begin(step_settings: Settings, tmp_path: Path) -> Iterator[Callable[..., Attempt]]:
    """Makes attempts; none of them outlives the test."""
    made: list[Attempt] = []

    def make(type_: Spark, **params: Any) -> Attempt:
        made.append(attempt(step_settings, type_, tmp_path / "attempts", **params))
        return made[-1]

    yield make
    for each in made:
        if each.handle:
            each.cancel()


@pytest.fixture
def spark_step(begin: Callable[..., Attempt]) -> Begin:
    """Makes attempts of `type: Spark`."""
    return partial(begin, Spark())


@pytest.fixture
def sql_step(begin: Callable[..., Attempt]) -> Begin:
    """Makes attempts of `type: Sql`."""
    return partial(begin, Sql())


@pytest.fixture
def chunk_script(monkeypatch: pytest.MonkeyPatch) -> str:
    """What a step runs in a chunk of a backfill, whose session has a branch and a view."""
    session = ChunkSession({WAP_BRANCH: "backfill_1"}, {"calve_rows_1": "SELECT 7 AS n"})
    monkeypatch.setattr(spark_spec, "session_of", lambda context: session)
    return """
        DROP TABLE IF EXISTS lake.db.chunked;
        CREATE TABLE lake.db.chunked (n INT) TBLPROPERTIES ('write.wap.enabled' = 'true');
        INSERT INTO lake.db.chunked SELECT n FROM calve_rows_1;
        SELECT max(name) AS branch, (SELECT n FROM lake.db.chunked) AS n FROM lake.db.chunked.refs
    """


@pytest.fixture
def code_folder(step_settings: Settings) -> Path:
    """Where the scripts and modules of steps are."""
    folder = step_settings.steps.directory
    assert folder is not None
    return folder
