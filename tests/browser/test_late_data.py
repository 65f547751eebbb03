"""Late data on the page of its table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from support.serving import eventually
from support.ui_story import EVENTS, arrive, definitions, make_tables

from .conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def test_a_capture_of_late_data_is_seen_on_the_heat_map_and_on_the_snapshot_line(
    page: Page, site: Site
) -> None:
    make_tables(site.lake)
    site.push(definitions()[0])
    for number in range(6):
        arrive(site.lake, number, rows=100)
    where = "/workflows/playback_daily/instances"

    def all_taken() -> bool:
        # Nobody knows the consumer before it has begun.
        lag = site.api.get("/lag", params={"consumer": "playback_daily/capture"}).json().get("lag", [])
        return bool(lag) and all(one["snapshots"] == 0 for one in lag)

    eventually(all_taken, "a run that takes all")
    page.goto(f"/tables/lake.{EVENTS}")
    cells = page.locator("svg.heat [data-late]")
    assert cells.count() > 0
    assert re.search(r"[\d,]+ (of [\d,]+ )?rows", page.locator("main").inner_text())
    # The same by the order of the snapshots, with marks for those who do not see colours, and as a table.
    page.get_by_role("link", name="snapshot", exact=True).click()
    assert page.url.endswith("?axis=snapshot#late")
    assert page.locator("svg.heat .heat-dot").count() > 0
    page.locator("#late-cells summary").click()
    assert page.locator("#late-cells tbody tr").count() == cells.count() > 0
    page.locator("a[href^='/captures/']").first.click()
    assert "playback_daily" in page.locator("main").inner_text()
    page.locator(f"a[href^='{where}/']").first.click()
    assert page.locator("h1").inner_text().startswith("playback_daily")
