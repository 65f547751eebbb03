"""Where the server may listen, and how it ends."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from calve.errors import CalveError
from calve.server.hosts import is_loopback
from calve.server.serving import Serving, check_address
from calve.settings import ApiSettings
from support.serving import running_server

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("calve.example", False),
    ],
)
def test_only_addresses_of_this_machine_need_no_token(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
    check_address(ApiSettings.model_validate({"host": host, "token": "t"}))
    if not expected:
        with pytest.raises(CalveError, match="no token is set") as caught:
            check_address(ApiSettings(host=host))
        assert caught.value.code == "TOKEN_REQUIRED"


def test_a_token_may_be_kept_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    assert ApiSettings(token_file=tmp_path / "token").secret() == "s3cret"
    with pytest.raises(CalveError, match="cannot be read"):
        ApiSettings(token_file=tmp_path / "nothing").secret()


def test_a_port_that_is_taken_is_named() -> None:
    from fastapi import FastAPI

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CalveError, match=f"127.0.0.1:{port} cannot be taken") as caught:
            Serving(FastAPI(), ApiSettings(port=port))
    assert (caught.value.code, caught.value.exit_code) == ("ADDRESS_TAKEN", 3)


def test_events_come_as_they_happen_and_go_on_where_they_broke(home: Path) -> None:
    definition: dict[str, Any] = {"workflow": {"id": "wf", "steps": [{"step": {"id": "a", "type": "NoOp"}}]}}
    with running_server(home, with_engine=False) as url, httpx2.Client(base_url=f"{url}/api/v3") as http:
        with http.stream("GET", "/events", params={"workflow_id": "wf"}) as stream:
            http.post("/workflows", json=definition).raise_for_status()
            http.post("/workflows", json={"workflow": {**definition["workflow"], "id": "other"}})
            http.post("/workflows", json=definition)
            versions = _events(stream, 2)
        assert [(event["kind"], event["data"]["version"]) for event in versions] == [
            ("workflow", 1),
            ("workflow", 2),
        ]
        headers = {"last-event-id": str(versions[0]["id"])}
        with http.stream("GET", "/events", params={"workflow_id": "wf"}, headers=headers) as stream:
            assert _events(stream, 1) == versions[1:]
        with http.stream("GET", "/events", params={"after": 0}) as stream:
            assert [event["workflow_id"] for event in _events(stream, 3)] == ["wf", "other", "wf"]
        bad = http.get("/events", headers={"last-event-id": "x"})
        assert (bad.status_code, bad.json()["code"]) == (400, "EVENT_ID_INVALID")


def test_a_server_ends_while_somebody_listens(home: Path) -> None:
    with httpx2.Client() as http:
        with running_server(home, with_engine=False) as url:
            request = http.build_request("GET", f"{url}/api/v3/events")
            response = http.send(request, stream=True)
            assert response.status_code == 200
        assert list(response.iter_lines()) == []


def _events(stream: httpx2.Response, count: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in stream.iter_lines():
        if line.startswith("data:"):
            found.append(json.loads(line.removeprefix("data:")))
        if len(found) == count:
            break
    return found
