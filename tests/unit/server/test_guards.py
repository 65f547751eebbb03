"""What stands before every route."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server.app import create_app
from calve.server.guards import TOKEN_COOKIE
from calve.settings import ApiSettings
from calve.ui.site import add_pages

pytestmark = pytest.mark.slow

HTML = {"accept": "text/html"}


def client_of(orchestrator: Orchestrator, token: str | None = None) -> TestClient:
    if token:
        settings = orchestrator.settings.model_copy(
            update={"api": ApiSettings.model_validate({"token": token})}
        )
        orchestrator = Orchestrator(settings, orchestrator.database)
    return TestClient(add_pages(create_app(orchestrator)), follow_redirects=False)


def test_what_did_not_change_is_not_sent_again(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    first = client.get("/api/v3/workflows")
    again = client.get("/api/v3/workflows", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    other = client.get("/api/v3/workflows", headers={"if-none-match": '"other"'})
    assert (other.status_code, other.json()) == (200, first.json())


def test_errors_and_changes_carry_no_tag(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    assert "etag" not in client.get("/api/v3/workflows/nothing/overview").headers
    assert "etag" not in client.post("/api/v3/signals", json={"name": "s"}).headers


def test_pages_of_other_sites_cannot_change_anything(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    foreign = {"origin": "http://elsewhere.example"}
    refused = client.post("/api/v3/signals", json={"name": "s"}, headers=foreign)
    assert (refused.status_code, refused.json()["code"]) == (403, "ORIGIN_FOREIGN")
    own = client.post("/api/v3/signals", json={"name": "s"}, headers={"origin": "http://testserver"})
    assert own.status_code == 200
    assert client.get("/api/v3/workflows", headers=foreign).status_code == 200


def test_a_browser_logs_in_with_the_token_and_programs_send_it(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator, "s3cret")
    sent = client.get("/", headers=HTML)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    assert client.get("/static/calve.css").status_code == 200
    assert client.get("/api/v3/workflows").status_code == 401
    wrong = client.post("/login", data={"token": "guess"})
    assert wrong.status_code == 401
    assert "not the token" in wrong.text
    right = client.post("/login", data={"token": "s3cret"})
    assert right.status_code == 303
    assert "httponly" in right.headers["set-cookie"].lower()
    assert client.cookies.get(TOKEN_COOKIE) == "s3cret"
    assert client.get("/", headers=HTML).status_code == 200


def test_pages_load_nothing_from_elsewhere(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    for path in ("/", "/docs", "/login", "/nothing"):
        answer = client.get(path, headers=HTML)
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "http://" not in answer.text.replace("http://127.0.0.1:8080", "")
        assert "https://" not in answer.text


def test_a_page_that_is_not_there_says_where_to_begin(orchestrator: Orchestrator) -> None:
    answer = client_of(orchestrator).get("/nothing", headers=HTML)
    assert answer.status_code == 404
    assert 'href="/workflows"' in answer.text
    assert client_of(orchestrator).get("/api/v3/nothing", headers=HTML).json()["code"] == "ROUTE_NOT_FOUND"


def test_zone_and_theme_are_kept_and_lead_to_no_other_site(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    chosen = client.get("/preferences/theme", params={"to": "dark", "back": "/docs?x=1"})
    assert chosen.headers["location"] == "/docs?x=1"
    assert 'data-theme="dark"' in client.get("/", headers=HTML).text
    for elsewhere in ("//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example"):
        answer = client.get("/preferences/zone", params={"to": "Europe/Berlin", "back": elsewhere})
        assert answer.headers["location"] == "/"
    assert "Europe/Berlin" in client.get("/", headers=HTML).text
