"""Pages that are open while something happens: they show it, and keep what their reader did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.ledgers import make_ledger
from support.serving import eventually
from support.ui_story import EVENTS, FRAGILE, arrive, make_tables

from .conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.slow

#: Captures once it is told to, and then fails.
GATED = f"""\
Workflow:
  id: gated
  jobs:
    - job: {{id: gate, type: NoOp, signal_dependencies: [go]}}
    - job: {{id: capture, type: IpCapture, ip_capture: {{source_tables: [{EVENTS}]}}}}
    - job: {{id: fail, type: Shell, script: "exit 1", retry_policy: {{error_retry_limit: 0}}}}
  dag: sequential
"""
#: Fails twice as soon as a file is there.
TRIED = """\
Workflow:
  id: tried
  marker: /nowhere
  jobs:
    - job:
        id: try
        type: Shell
        retry_policy: {error_retry_limit: 1, backoff: {type: FIXED_BACKOFF, error_retry_backoff_in_secs: 1}}
        script: |
          echo begun
          until test -e ${marker}; do sleep 0.1; done
          exit 1
"""
#: Keeps every stream that a page opens.
STREAMS = """
window.streams = [];
window.EventSource = class extends EventSource {
  constructor(...given) { super(...given); window.streams.push(this); }
};
"""
CLOSED = 2
STATES = "window.streams.map((one) => one.readyState)"
#: A part that was replaced has lost it.
MARK = "for (const one of document.querySelectorAll('[data-live]')) one.dataset.old = '1'"
#: What a browser does to a page that is left and come back to, as far as the page can tell.
HIDE = """
Object.defineProperty(document, "hidden", {value: true, configurable: true});
document.dispatchEvent(new Event("visibilitychange"));
"""
SHOW = """
delete document.hidden;
document.dispatchEvent(new Event("visibilitychange"));
"""
LEAVE = "dispatchEvent(new PageTransitionEvent('pagehide', {persisted: true}))"
COME_BACK = "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"


def test_a_run_shows_what_was_not_there_when_its_page_was_opened(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    make_tables(site.lake)
    arrive(site.lake, 0, rows=20)
    site.push(GATED)
    site.api.post("/workflows/gated/versions/latest/actions/start", json={}).raise_for_status()
    page.goto("/workflows/gated/instances/1")
    expect(page.locator("#node-gate")).to_be_visible()
    expect(page.locator("#captures, #siblings")).to_have_count(0)
    page.evaluate("window.isSame = true")
    site.api.post("/signals", json={"name": "go", "params": {}}).raise_for_status()
    expect(page.locator("#captures")).to_contain_text(EVENTS)
    expect(page.locator("main .status").first).to_have_text("failed")
    site.api.post("/workflows/gated/instances/1/actions/restart", json={}).raise_for_status()
    expect(page.locator("#siblings")).to_contain_text("Run 2")
    order = page.evaluate("[...document.querySelectorAll('[data-live]')].map((one) => one.id)")
    assert order == ["head", "siblings", "failed", "graph", "timeline", "steps", "captures", "params"]
    assert page.evaluate("window.isSame"), "it was not loaded again"


def test_attempts_show_up_on_the_page_of_a_step_and_its_log_stays(
    page: Page, site: Site, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    site.push(TRIED)
    body = {"run_params": {"marker": {"value": str(tmp_path / "go"), "type": "STRING"}}}
    site.api.post("/workflows/tried/versions/latest/actions/start", json=body).raise_for_status()
    eventually(
        lambda: site.api.get("/workflows/tried/instances/1/steps/try").status_code == 200, "its first attempt"
    )
    page.goto("/workflows/tried/instances/1/steps/try?run=1&attempt=1")
    expect(page.get_by_role("log")).to_contain_text("begun")
    page.evaluate(MARK)
    (tmp_path / "go").touch()
    expect(page.get_by_role("navigation", name="Attempts")).to_contain_text("Attempt 2")
    assert page.locator("#log[data-old]").count() == 1


def test_home_of_a_new_project_shows_the_first_workflow(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    page.goto("/")
    expect(page.get_by_role("heading", name="Begin here")).to_be_visible()
    site.push(FRAGILE)
    expect(page.get_by_role("heading", name="Begin here")).to_have_count(0)
    headings = page.locator("main h2").all_text_contents()
    assert headings[:3] == ["What needs attention", "What runs now", "The last 24 hours"]


def test_a_signal_shows_up_on_the_page_of_signals(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    page.goto("/signals")
    site.api.post("/signals", json={"name": "titles/ready", "params": {}}).raise_for_status()
    expect(page.locator("#signals")).to_contain_text("titles/ready")


def test_what_happens_before_the_stream_opens_is_shown(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    def push_first(route: Route) -> None:
        site.push(FRAGILE)
        route.continue_()

    page.route("**/api/v3/events*", push_first, times=1)
    page.goto("/workflows")
    expect(page.locator("#workflows")).to_contain_text("import_titles")


@pytest.mark.parametrize(
    ("leave", "come_back"), [(HIDE, SHOW), (LEAVE, COME_BACK)], ids=["another tab", "another page"]
)
def test_a_page_that_nobody_sees_holds_no_connection_and_catches_up(
    page: Page, site: Site, leave: str, come_back: str
) -> None:
    from playwright.sync_api import expect

    page.add_init_script(STREAMS)
    page.goto("/workflows")
    eventually(lambda: page.evaluate(STATES) == [1], "an open stream")
    page.evaluate(leave)
    assert page.evaluate(STATES) == [CLOSED]
    site.push(FRAGILE)
    page.evaluate(come_back)
    expect(page.locator("#workflows")).to_contain_text("import_titles")
    eventually(lambda: page.evaluate(STATES) == [CLOSED, 1], "a stream that is open again")


def test_what_the_reader_folded_stays_folded(page: Page, site: Site, home: Path) -> None:
    from playwright.sync_api import expect

    make_tables(site.lake)
    arrive(site.lake, 0, rows=20)
    with make_ledger(home) as ledger:
        capture = ledger.capture(EVENTS, consumer="reader").id
    page.goto(f"/captures/{capture}")
    files = page.locator("details", has_text="Files")
    expect(files).to_have_attribute("open", "")
    files.locator("summary").click()
    page.evaluate(MARK)
    site.push(FRAGILE)
    expect(page.locator("#capture:not([data-old])")).to_be_visible()
    expect(files).not_to_have_attribute("open", "")


def test_what_was_done_is_told_once(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    page.goto("/workflows?search=a+b&told=Done.")
    expect(page.get_by_role("status")).to_have_text("Done.")
    expect(page).to_have_url(f"{site.url}/workflows?search=a+b")
    page.reload()
    expect(page.get_by_role("status")).to_have_count(0)


def test_copying_is_offered_where_a_browser_lets_pages_copy(page: Page, site: Site) -> None:
    from playwright.sync_api import expect

    page.goto("/")
    expect(page.get_by_role("button", name="Copy").first).to_be_visible()
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', {value: undefined})")
    page.goto("/")
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
