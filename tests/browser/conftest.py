"""A real browser on real pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from calve.lake.catalogs import Lake
from calve.settings import load_settings
from support.axe import fetch_axe
from support.chromium import open_browser
from support.serving import running_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_CHECK = (Path(__file__).parent / "accessibility.js").read_text()
#: What axe is asked about: all of WCAG up to 2.2 AA, and what is good practice.
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_ASK_AXE = """async (rules) => (await axe.run(document, {runOnly: rules})).violations.map(
  (one) => `${one.help}: ${one.nodes.map((node) => node.html.slice(0, 140)).slice(0, 3).join(" · ")}`)"""
DEADLINE_MS = 60_000


@dataclass(frozen=True)
class Site:
    """A server with an engine, and the lake behind it."""

    url: str
    lake: Lake
    api: httpx2.Client

    def push(self, text: str) -> None:
        """Push a workflow in YAML."""
        self.api.post("/workflows/yaml", content=text).raise_for_status()


@pytest.fixture
def site(home: Path) -> Iterator[Site]:
    with (
        running_server(home) as url,
        httpx2.Client(base_url=f"{url}/api/v3", headers={"user": "ada"}, timeout=60) as api,
    ):
        yield Site(url, Lake(load_settings(home)), api)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of a module: while it is open, no other test could run an event loop."""
    with open_browser() as found:
        if found is None:
            pytest.skip("there is no Chromium: `make browser` installs it as root, otherwise you have to")
        yield found


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page in a browser of its own; what goes wrong in it fails the test."""
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    made = context.new_page()
    made.set_default_timeout(DEADLINE_MS)
    troubles: list[str] = []
    made.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    made.on("pageerror", lambda error: troubles.append(str(error)))
    yield made
    context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str | None:
    """The text of axe; without it, pages are looked at by the check of our own alone."""
    return fetch_axe(tmp_path_factory.mktemp("axe"))


@pytest.fixture
def check_page(page: Page, axe: str | None) -> Callable[[], None]:
    """Look for what a page lacks: in light and in dark, on a desk and on a phone."""

    def check() -> None:
        where = page.url
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(_CHECK) == [], (where, scheme)
            if axe is not None:
                page.evaluate(axe)
                assert page.evaluate(_ASK_AXE, _RULES) == [], (where, scheme)
        page.set_viewport_size({"width": 390, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{where} is {wide} px too wide for a phone"
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(color_scheme="light")

    return check
