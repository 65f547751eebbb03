"""What all pages have in common."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server.app import create_app
from calve.server.dependencies import Json
from calve.ui.pages import Pages
from support.engine_rows import push_jobs

pytestmark = pytest.mark.slow

AS_JSON = re.compile(r'<a href="([^"]+)">This page as JSON</a>')


def test_what_was_done_is_told_once(browser: TestClient) -> None:
    page = browser.get("/runs?status=FAILED&told=Restarted%3A+this+is+run+2.").text
    assert '<p class="told" role="status">Restarted: this is run 2.</p>' in page
    # Neither the twin, nor where the choices at the bottom lead back to, says it again.
    assert AS_JSON.findall(page) == ["/api/v3/views/runs?status=FAILED"]
    assert "told=" not in unescape(page)
    assert "told%3D" not in page


def test_the_twin_is_linked_where_there_is_one(browser: TestClient) -> None:
    for path in ("/", "/workflows?search=a&search=b", "/docs"):
        (twin,) = AS_JSON.findall(browser.get(path).text)
        assert browser.get(unescape(twin)).headers["content-type"] == "application/json", path
    for path in ("/login", "/nowhere", "/workflows/none_such", "/preferences/zone"):
        assert AS_JSON.findall(browser.get(path).text) == [], path


def test_a_page_follows_what_happens_while_it_is_made(orchestrator: Orchestrator) -> None:
    pages = Pages()

    @pages.page("/busy", "error.html")
    def busy() -> Json:
        push_jobs(orchestrator.database, "wf", "a")
        return {"error": {"status": 200, "code": "NONE", "message": "", "remedy": ""}}

    app = create_app(orchestrator)
    app.include_router(pages.html)
    client = TestClient(app, base_url="http://localhost")
    shown = [re.findall(r'data-after="(\d+)"', client.get("/busy").text) for _ in range(2)]
    assert shown == [["0"], ["1"]], "the event of the push comes after what the page has seen"


@pytest.mark.parametrize("path", ["/", "/settings"])
def test_what_changes_without_an_event_is_looked_at_now_and_then(browser: TestClient, path: str) -> None:
    assert 'data-ticking="10"' in browser.get(path).text


def test_the_api_is_asked_for_where_it_was_found(browser: TestClient) -> None:
    asked = browser.get("/docs", headers={"host": "127.0.0.1:9090"})
    assert "<code>curl http://127.0.0.1:9090/openapi.json</code>" in asked.text
