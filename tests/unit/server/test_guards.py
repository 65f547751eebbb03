"""What stands before every route."""

from __future__ import annotations

import re
from html import unescape

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
    site = add_pages(create_app(orchestrator))
    return TestClient(
        site, base_url="http://localhost", follow_redirects=False, raise_server_exceptions=False
    )


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
    own = client.post("/api/v3/signals", json={"name": "s"}, headers={"origin": "http://localhost"})
    assert own.status_code == 200
    assert client.get("/api/v3/workflows", headers=foreign).status_code == 200


@pytest.mark.parametrize("origin", ["http://[", "null", "http://localhost.elsewhere.example", ""])
def test_an_origin_that_is_none_is_foreign(orchestrator: Orchestrator, origin: str) -> None:
    client = client_of(orchestrator)
    refused = client.post("/api/v3/signals", json={"name": "s"}, headers={"origin": origin})
    assert (refused.status_code, refused.json()["code"]) == (403, "ORIGIN_FOREIGN")


@pytest.mark.parametrize(
    "host",
    ["evil.example:8080", "localhost.evil.example", "10.0.0.1", "testserver", "[", "127.0.0.1.evil.example"],
)
def test_a_name_that_others_lead_here_is_refused_without_a_token(
    orchestrator: Orchestrator, host: str
) -> None:
    client = client_of(orchestrator)
    asked = {"host": host, "origin": f"http://{host}"}
    for refused in (
        client.post("/api/v3/workflows/yaml", content="Workflow: {id: x}", headers=asked),
        client.get("/api/v3/workflows", headers=asked),
        client.get("/", headers=HTML | asked),
    ):
        assert (refused.status_code, refused.json()["code"]) == (403, "HOST_FOREIGN")
        assert host in refused.json()["message"]
        assert "CALVE_API__TOKEN" in refused.json()["remedy"]


@pytest.mark.parametrize(
    "host", ["localhost:8080", "calve.localhost", "127.0.0.1:8080", "127.8.8.8", "[::1]:8080", "LocalHost"]
)
def test_names_of_this_machine_are_answered(orchestrator: Orchestrator, host: str) -> None:
    asked = {"host": host, "origin": f"http://{host}"}
    answer = client_of(orchestrator).post("/api/v3/signals", json={"name": "s"}, headers=asked)
    assert answer.status_code == 200


def test_the_host_of_the_settings_is_answered_and_with_a_token_any(orchestrator: Orchestrator) -> None:
    named = {"host": "calve.internal:8080"}
    api = ApiSettings(host="Calve.internal")
    settings = orchestrator.settings.model_copy(update={"api": api})
    client = client_of(Orchestrator(settings, orchestrator.database))
    assert client.get("/api/v3/workflows", headers=named).status_code == 200
    bearer = {"authorization": "Bearer s3cret"}
    assert (
        client_of(orchestrator, "s3cret").get("/api/v3/workflows", headers=named | bearer).status_code == 200
    )


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
    assert right.headers["location"] == "/"
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie
    # Or a link in a mail would end at the login.
    assert "samesite=lax" in cookie
    assert client.cookies.get(TOKEN_COOKIE) == "s3cret"
    assert client.get("/", headers=HTML).status_code == 200


def test_a_login_goes_on_to_the_page_that_was_asked_for(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator, "s3cret")
    asked = "/runs?workflow=a%2Fb%26c&status=FAILED"
    login = client.get(asked, headers=HTML).headers["location"]
    assert login.startswith("/login?back=")
    assert '<form method="post"' in client.get(login, headers=HTML).text
    assert client.post(login, data={"token": "guess"}).status_code == 401
    assert client.post(login, data={"token": "s3cret"}).headers["location"] == asked


def test_a_login_leads_to_no_other_site(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator, "s3cret")
    for elsewhere in ("//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example"):
        right = client.post("/login", params={"back": elsewhere}, data={"token": "s3cret"})
        assert right.headers["location"] == "/"


def test_files_of_pages_are_asked_for_again_by_their_tag(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    for name in ("main.js", "live.js", "calve.css"):
        first = client.get(f"/static/{name}")
        assert first.headers["cache-control"] == "no-cache"
        again = client.get(f"/static/{name}", headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.headers["cache-control"]) == (304, "no-cache")


def test_pages_load_nothing_from_elsewhere(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    for path in ("/", "/docs", "/login", "/nothing"):
        answer = client.get(path, headers=HTML)
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "http://" not in answer.text.replace("curl http://localhost/", "")
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


def test_a_zone_can_be_chosen_from_a_form(orchestrator: Orchestrator) -> None:
    client = client_of(orchestrator)
    link = re.search(r'data-zone href="([^"]+)"', client.get("/runs?status=FAILED", headers=HTML).text)
    assert link is not None
    form = client.get(unescape(link[1]), headers=HTML)
    assert form.status_code == 200
    assert "<option selected>UTC</option>" in form.text
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form.text))
    chosen = client.get("/preferences/zone", params={"to": "Asia/Tokyo", **fields})
    assert chosen.headers["location"] == "/runs?status=FAILED"
    assert ">Asia/Tokyo</a>" in client.get("/", headers=HTML).text
    assert "<option selected>Asia/Tokyo</option>" in client.get("/preferences/zone", headers=HTML).text
