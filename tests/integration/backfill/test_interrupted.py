"""Whoever acts on a backfill dies in the middle of it: the same once more does the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.types import StringType

from calve.backfill.records import Backfill
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.runs import run_summary
from calve.state.orchestration import runs
from support.backfill_world import World
from support.faults import Died, die_after, die_before


@pytest.fixture
def planned(chain: World) -> int:
    """A plan, and no engine."""
    chain.calve.engine.stop()
    return chain.keep("a", "2024-01-02", "2024-01-04").id


def dies(action: Callable[..., Any], patch: pytest.MonkeyPatch, name: str, how: Any) -> None:
    """Act, and die at a call of the engine."""
    with patch.context() as patched:
        patched.setattr(Orchestrator, name, how(getattr(Orchestrator, name)))
        with pytest.raises(Died):
            action()


def driver(chain: World, found: Backfill) -> dict[str, Any]:
    assert found.instance_id is not None
    with chain.calve.database.read() as connection:
        return run_summary(connection, found.driver, found.instance_id)


def fail(chain: World, planned: int) -> None:
    """Start it, and let it fail in its first stage."""
    chain.backfills.start(planned, "ada")
    with chain.catalog.load_table("db.daily").update_schema() as update:
        update.add_column("more", StringType())
    chain.calve.start_engine()
    until_over(chain, planned, "FAILED")


def until_over(chain: World, planned: int, status: str, run_id: int = 1) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        run = driver(chain, chain.backfills.get(planned))
        return run if (run["run_id"], run["status"]) == (run_id, status) else None

    return chain.calve.until(look)


@pytest.mark.parametrize(
    ("name", "how"), [("push_all", die_before), ("start", die_before), ("start", die_after)]
)
def test_a_start_that_died_has_one_driver_when_it_is_repeated(
    chain: World, planned: int, monkeypatch: pytest.MonkeyPatch, name: str, how: Any
) -> None:
    dies(lambda: chain.backfills.start(planned, "ada"), monkeypatch, name, how)
    found = chain.backfills.start(planned, "ada")
    assert found.status == "RUNNING"
    drivers = [row for row in chain.calve.rows(runs) if row.workflow_id == found.driver]
    assert [row.instance_id for row in drivers] == [found.instance_id]


def test_a_retry_that_died_can_be_repeated(
    chain: World, planned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(chain, planned)
    dies(lambda: chain.backfills.retry(planned, "ada"), monkeypatch, "restart", die_before)
    assert chain.backfills.get(planned).status == "RUNNING"
    assert chain.backfills.retry(planned, "ada").status == "RUNNING"
    until_over(chain, planned, "FAILED", run_id=2)
    assert chain.backfills.get(planned).status == "FAILED"


def test_a_cancelled_backfill_does_nothing_even_if_its_driver_was_not_told(
    chain: World, planned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain.backfills.start(planned, "ada")
    dies(lambda: chain.backfills.cancel(planned, "ada"), monkeypatch, "end_instance", die_before)
    chain.calve.start_engine()
    run = until_over(chain, planned, "FAILED")
    assert run["steps"]["stage_0"]["error"]["code"] == "BACKFILL_CANCELLED"
    assert chain.backfills.cancel(planned, "ada").status == "CANCELLED"
    assert set(chain.catalog.load_table("db.daily").metadata.refs) == {"main"}
