"""What the tests of backfills share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from calve.lake.catalogs import Lake
from calve.steps.incremental.shared import close_ledgers
from support.backfill_world import World
from support.branches import Branched
from support.engine_runs import EngineRuns, _probe_type, on_sqlite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["_probe_type", "on_sqlite"]


@pytest.fixture
def branched(spark: SparkSession, lake: Lake, namespace: str) -> Branched:
    """Makes tables with branches."""
    return Branched(spark, lake, namespace)


@pytest.fixture
def world(on_sqlite: EngineRuns) -> Iterator[World]:
    yield World(on_sqlite)
    close_ledgers()


@pytest.fixture
def chain(world: World) -> World:
    """events -a-> daily -b-> agg."""
    world.table("events", days=5)
    world.table("daily", days=5)
    world.table("agg")
    world.merges("a", "events", "daily")
    world.merges("b", "daily", "agg", data_operations=["append", "overwrite", "delete"])
    return world
