"""Tables for the tests of capture."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from calve.lake import Lake
from support.lake_table import LakeTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MakeTable = Callable[..., LakeTable]


@pytest.fixture
def make_table(spark: SparkSession, lake: Lake, namespace: str) -> MakeTable:
    """Makes new tables in a namespace of this test alone; see `LakeTable.create` for the arguments."""
    numbers = itertools.count(1)

    def make(*arguments: Any, **options: Any) -> LakeTable:
        return LakeTable.create(spark, lake, f"lake.{namespace}.t{next(numbers)}", *arguments, **options)

    return make
