"""By keys alone: no pointer is moved in these tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.serving import eventually
from support.ui_story import AT_WORK, FRAGILE

from .conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow
#: What has the focus: how it is called, whether it can be seen, and whether that is shown.
FOCUSED = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const box = one.getBoundingClientRect(), style = getComputedStyle(one);
  return {
    name: (one.getAttribute("aria-label") || one.textContent || one.getAttribute("placeholder") || "").trim(),
    tag: one.tagName.toLowerCase(),
    isShown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 0,
    isInView: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""


def tab_to(page: Page, name: str, most: int = 60, key: str = "Tab") -> None:
    """Go on with Tab until what is called so has the focus; all that has it on the way shows that."""
    # A page is there before its style is, which shows the focus.
    page.wait_for_load_state("load")
    passed: list[str] = []
    for _ in range(most):
        page.keyboard.press(key)
        focused = page.evaluate(FOCUSED)
        assert focused is not None, f"the focus is nowhere after {passed}"
        assert focused["isShown"], f"nothing shows the focus on {focused}"
        assert focused["isInView"], f"the focus is out of view on {focused}"
        passed.append(focused["name"])
        if focused["name"] == name:
            return
    raise AssertionError(f"{name} is not among {passed}")


def fail(site: Site, marker: Path) -> None:
    """A run that fails until the file is there."""
    site.push(FRAGILE)
    body = {"run_params": {"marker": {"value": str(marker), "type": "STRING"}}}
    site.api.post("/workflows/import_titles/versions/latest/actions/start", json=body).raise_for_status()
    eventually(
        lambda: site.api.get("/runs").json()["runs"][0]["status"] == "FAILED" or None, "the end of the run"
    )


def test_from_home_to_a_failed_run_its_log_and_a_restart(page: Page, site: Site, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    marker = tmp_path / "answer"
    fail(site, marker)
    page.goto("/")
    # Past the navigation at once, to what needs attention.
    tab_to(page, "Skip to the content", most=1)
    page.keyboard.press("Enter")
    tab_to(page, "import_titles", most=1)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("import_titles #1")

    tab_to(page, "Skip to the content", most=1)
    page.keyboard.press("Enter")
    tab_to(page, "fetch")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("fetch")
    tab_to(page, "Log")
    expect(page.locator(":focus")).to_contain_text("the partner gives no answer")
    marker.touch()
    tab_to(page, "import_titles #1", key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("import_titles #1")

    tab_to(page, "Restart incomplete")
    page.keyboard.press("Enter")
    question = page.locator(":popover-open")
    expect(question).to_contain_text("Run the steps again that are not complete?")
    # The question has the focus, Escape takes it away, and one is where one was.
    expect(question.get_by_role("button", name="Restart incomplete")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(page.get_by_role("button", name="Restart incomplete")).to_be_focused()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Restarted: this is run 2.")
    expect(page.locator("main .status").first).to_have_text("succeeded")


def test_what_does_harm_has_the_focus_on_the_way_back(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    site.push(FRAGILE)
    page.goto("/workflows/import_titles")
    tab_to(page, "Deactivate")
    page.keyboard.press("Enter")
    question = page.locator(":popover-open")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(question).to_have_count(0)
    assert site.api.get("/workflows/import_titles/overview").json()["active_version_id"] == 1


def test_the_focus_stays_where_it_is_while_a_page_lives(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    site.push(AT_WORK)
    site.api.post("/workflows/catalog_sync/versions/latest/actions/start", json={}).raise_for_status()
    page.goto("/workflows/catalog_sync/instances/1")
    expect(page.locator("#node-compare.s-RUNNING")).to_be_visible()
    tab_to(page, "ratings")
    before = page.evaluate("document.activeElement.closest('[data-live]').textContent")
    site.api.post("/signals", json={"name": "ratings/ready", "params": {}}).raise_for_status()
    expect(page.locator("#node-ratings.s-SUCCEEDED")).to_be_visible()
    assert page.evaluate("document.activeElement.closest('[data-live]').textContent") != before
    assert page.evaluate(FOCUSED)["name"] == "ratings"
    site.api.put("/workflows/catalog_sync/instances/1/actions/kill").raise_for_status()


def test_what_is_folded_opens_and_closes_by_keys(page: Page, site: Site, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    fail(site, tmp_path / "answer")
    page.goto("/workflows/import_titles/instances/1")
    tab_to(page, page.locator("#param-system summary").inner_text())
    page.keyboard.press("Enter")
    expect(page.locator("details[open]")).to_contain_text("RUN_DATE")
    page.keyboard.press("Space")
    expect(page.locator("details[open]")).to_have_count(0)


def test_a_grid_is_one_stop_and_arrows_go_about_in_it(page: Page, site: Site, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    for _ in range(2):
        fail(site, tmp_path / "answer")
    page.goto("/workflows/import_titles")
    tab_to(page, "2")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(FOCUSED)["name"] == "2", "there is nothing before it"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    cell = page.evaluate(FOCUSED)
    assert "fetch" in cell["name"], cell
    assert cell["isShown"], cell
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[data-grid]')") is None
    tab_to(page, cell["name"], most=1, key="Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("fetch")
    assert "/instances/1/" in page.url
