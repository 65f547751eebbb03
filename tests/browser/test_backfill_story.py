"""A backfill from its plan to what readers see, in a browser, on a real Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from calve.lake.catalogs import Lake
from support.backfill_pipeline import Pipeline, day, pipeline
from support.serving import running_server

from .conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.jvm, pytest.mark.slow]
DEADLINE_MS = 300_000


@pytest.fixture
def pipe(home: Path) -> Iterator[Pipeline]:
    """A chain of tables with an engine and a Spark, and three days in its first tables."""
    home.mkdir()
    with pipeline(home) as made:
        made.make()
        for number in range(3):
            made.add(*((number, key, "ab"[key % 2], 10 * key) for key in range(1, 4)))
        made.run("daily")
        yield made


@pytest.fixture
def site(home: Path, pipe: Pipeline) -> Iterator[Site]:
    """A server beside that engine."""
    with running_server(home, with_engine=False) as url, httpx2.Client(base_url=f"{url}/api/v3") as api:
        yield Site(url, Lake(pipe.calve.settings), api)


def test_a_backfill_is_planned_run_compared_and_published(
    page: Page, pipe: Pipeline, check_page: Callable[[], None]
) -> None:
    from playwright.sync_api import expect

    pipe.push(factor=3)
    page.goto("/backfills/new?workflow=daily")
    page.get_by_label("From").fill(day(0))
    page.get_by_label("To", exact=True).fill(day(2))
    page.get_by_label("Downstream").fill("none")
    page.get_by_role("button", name="Plan it").click()
    expect(page.locator("h1")).to_contain_text("of daily")
    check_page()

    def confirm(name: str) -> None:
        page.get_by_role("button", name=name, exact=True).first.click()
        page.locator(":popover-open").get_by_role("button", name=name, exact=True).click()

    confirm("Run")
    expect(page.get_by_role("button", name="Publish", exact=True).first).to_be_visible(timeout=DEADLINE_MS)
    # Both days are compared with what readers see, and that is still the old.
    expect(page.locator("main")).to_contain_text(day(1))
    assert (day(0), 1, "b", 10) in pipe.rows("daily")
    check_page()
    confirm("Publish")
    expect(page.locator("#backfill-head .status").first).to_have_text("done", timeout=DEADLINE_MS)
    check_page()
    found = pipe.rows("daily")
    assert (day(0), 1, "b", 30) in found
    assert (day(2), 1, "b", 10) in found
