"""A lake of one test's own, with tables that PyIceberg writes: no JVM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calve.lake import (
    ChangeRequest,
    Changes,
    Lake,
    Mode,
    Segment,
    open_table,
    plan_changes,
    write_changes,
)
from calve.settings import load_settings

Capture = Callable[..., Changes]


@pytest.fixture
def own_lake(home: Path) -> Lake:
    """An empty lake with the namespace `db`."""
    lake = Lake(load_settings(home))
    lake.catalog("lake").create_namespace("db")
    return lake


@pytest.fixture
def capture(own_lake: Lake) -> Capture:
    """Capture a stretch of a table: `capture("db.t", Mode.NET, start, end, …)`."""

    def run(name: str, mode: Mode, start: int | None, end: int | None, **wanted: Any) -> Changes:
        table = open_table(own_lake, name)
        request = ChangeRequest(mode, (Segment(start, end),), **wanted)
        return write_changes(plan_changes(table, request), own_lake.settings.icdc)

    return run
