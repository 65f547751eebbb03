"""From a failed run to a green one, as a person goes through it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.ui_story import FRAGILE

from .conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow


def test_a_run_is_started_fails_is_understood_restarted_and_green(
    page: Page, site: Site, check_page: Callable[[], None], tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    marker = tmp_path / "answer"
    site.push(FRAGILE)
    page.goto("/workflows")
    page.get_by_role("link", name="import_titles").first.click()
    check_page()
    page.get_by_role("link", name="Start").first.click()
    page.get_by_label("marker").fill(str(marker))
    check_page()
    page.get_by_role("button", name="Start").click()
    # The page of the run follows it to its end by itself.
    expect(page.locator("h1")).to_contain_text("import_titles")
    expect(page.locator("main .status").first).to_have_text("failed")
    check_page()
    page.locator("#node-fetch").click()
    expect(page.get_by_role("log")).to_contain_text("the partner gives no answer")
    check_page()
    marker.touch()
    page.goto(f"{site.url}/workflows/import_titles/instances/1")
    page.get_by_role("button", name="Restart").first.click()
    page.locator(":popover-open").get_by_role("button", name="Restart").first.click()
    expect(page.locator("main .status").first).to_have_text("succeeded")
    assert site.api.get("/workflows/import_titles/instances/1").json()["workflow_run_id"] == 2
