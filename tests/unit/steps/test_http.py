"""Http steps."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from calve.settings import HttpSettings
from calve.steps.contract import Ending, Finished, Running
from calve.steps.http import Http
from calve.steps.http_call import MAX_BODY_BYTES
from support.http_server import Asked, Reply, Server, http_server
from support.steps import Driver, make_context, make_settings, run_to_end

# A call that is cut off while it connects leaves a coroutine of the network library unused.
pytestmark = pytest.mark.filterwarnings("ignore:coroutine 'connect_tcp:RuntimeWarning")


def call(tmp_path: Path, http: dict[str, Any], **params: Any) -> Finished:
    return run_to_end(Http(), make_context(tmp_path, {"http": http, **params}))


def test_the_answer_becomes_outputs(tmp_path: Path, server: Server) -> None:
    server.reply = lambda asked: Reply(body="grüße".encode(), headers={"Content-Type": "text/plain"})
    end = call(tmp_path, {"url": f"{server.url}/hello?x=1"})
    assert end.ending is Ending.DONE
    assert end.outputs == {"status_code": 200, "response_body": "grüße"}
    assert [(asked.method, asked.path) for asked in server.asked] == [("GET", "/hello?x=1")]


@pytest.mark.parametrize(
    ("status", "ending"),
    [
        (200, Ending.DONE),
        (204, Ending.DONE),
        (304, Ending.USER_ERROR),
        (400, Ending.USER_ERROR),
        (404, Ending.USER_ERROR),
        (408, Ending.PLATFORM_ERROR),
        (429, Ending.PLATFORM_ERROR),
        (500, Ending.PLATFORM_ERROR),
        (503, Ending.PLATFORM_ERROR),
    ],
)
def test_the_status_decides_unless_an_expression_does(
    tmp_path: Path, server: Server, status: int, ending: Ending
) -> None:
    server.reply = lambda asked: Reply(status=status)
    end = call(tmp_path, {"url": server.url})
    assert end.ending is ending
    assert end.outputs["status_code"] == status


@pytest.mark.parametrize(
    ("expression", "ending", "code"),
    [
        ("status_code == 404 ? 'DONE' : 'FATAL_ERROR'", Ending.DONE, None),
        ("response_body.contains('gone') ? 'FATAL_ERROR' : 'DONE'", Ending.FATAL_ERROR, "HTTP_STATUS"),
        ("return wanted;", Ending.PLATFORM_ERROR, "HTTP_STATUS"),
        ("'SOMETHING'", Ending.FATAL_ERROR, "HTTP_STATE_INVALID"),
        ("5", Ending.FATAL_ERROR, "HTTP_STATE_INVALID"),
        ("1 +", Ending.FATAL_ERROR, "SEL_SYNTAX"),
    ],
)
def test_an_expression_over_the_answer_decides(
    tmp_path: Path, server: Server, expression: str, ending: Ending, code: str | None
) -> None:
    server.reply = lambda asked: Reply(status=404, body=b"it is gone")
    end = call(tmp_path, {"url": server.url}, state_expr=expression, wanted="PLATFORM_ERROR")
    assert end.ending is ending
    assert (end.error.code if end.error else None) == code


def test_what_is_sent(tmp_path: Path, server: Server) -> None:
    http = {"url": server.url, "method": "put", "headers": {"X-Number": 5, "Authorization": "Bearer t"}}
    call(tmp_path, {**http, "body": "text"})
    call(tmp_path, {**http, "method": "POST", "body": {"a": [1]}})
    text, document = server.asked
    assert (text.method, text.body, text.headers["X-Number"]) == ("PUT", b"text", "5")
    assert text.headers["Authorization"] == "Bearer t"
    assert json.loads(document.body) == {"a": [1]}
    assert document.headers["Content-Type"] == "application/json"


def test_a_call_that_may_not_be_repeated_carries_the_attempt(tmp_path: Path, server: Server) -> None:
    for method in ("GET", "PUT", "POST", "PATCH"):
        context = make_context(tmp_path, {"http": {"url": server.url, "method": method}})
        run_to_end(Http(), context)
        expected = context.attempt_uuid if method in ("POST", "PATCH") else None
        assert server.asked[-1].headers.get("Idempotency-Key") == expected
    call(tmp_path, {"url": server.url, "method": "POST", "headers": {"idempotency-key": "mine"}})
    assert server.asked[-1].headers["idempotency-key"] == "mine"


def test_a_server_that_is_not_there_is_a_platform_error(tmp_path: Path) -> None:
    with http_server() as gone:
        url = gone.url
    end = call(tmp_path, {"url": url})
    assert end.ending is Ending.PLATFORM_ERROR
    assert end.error is not None
    assert end.error.code == "HTTP_NO_ANSWER"


def test_a_server_that_does_not_answer_is_a_platform_error(tmp_path: Path, server: Server) -> None:
    def never(asked: Asked) -> Reply:
        server.release.wait()
        return Reply()

    server.reply = never
    settings = make_settings(tmp_path, http=HttpSettings.model_validate({"timeout": 0.1}))
    end = run_to_end(Http(), make_context(tmp_path, {"http": {"url": server.url}}, settings=settings))
    assert end.ending is Ending.PLATFORM_ERROR
    assert end.error is not None
    assert "ReadTimeout" in end.error.message


@pytest.mark.parametrize(
    "http",
    [
        {"url": "ftp://host/file"},
        {"url": "no url"},
        {"url": "http://"},
        {"url": "http://host:99999999/"},
        {},
        {"url": "http://host", "method": "GET /"},
        {"url": "http://host", "surprise": 1},
    ],
)
def test_a_wrong_call_is_refused_for_good(tmp_path: Path, http: dict[str, Any]) -> None:
    end = call(tmp_path, http)
    assert end.ending is Ending.FATAL_ERROR, end
    assert end.error is not None


def test_a_header_cannot_smuggle_in_another(tmp_path: Path, server: Server) -> None:
    end = call(tmp_path, {"url": server.url, "headers": {"X": "a\r\nInjected: b"}})
    assert end.ending is Ending.FATAL_ERROR
    assert server.asked == []


@pytest.mark.parametrize(
    ("allowed", "ending"),
    [
        (None, Ending.DONE),
        (("127.0.0.1",), Ending.DONE),
        (("*.0.0.1",), Ending.DONE),
        (("example.com",), Ending.FATAL_ERROR),
        ((), Ending.FATAL_ERROR),
    ],
)
def test_only_allowed_hosts_are_called(
    tmp_path: Path, server: Server, allowed: tuple[str, ...] | None, ending: Ending
) -> None:
    settings = make_settings(tmp_path, http=HttpSettings(allowed_hosts=allowed))
    end = run_to_end(Http(), make_context(tmp_path, {"http": {"url": server.url}}, settings=settings))
    assert end.ending is ending
    assert len(server.asked) == (ending is Ending.DONE)


def test_redirects_are_followed_on_the_same_server_only(tmp_path: Path, server: Server) -> None:
    def answer(asked: Asked) -> Reply:
        target = {"/a": "/b", "/away": "http://localhost:1/x", "/loop": "/loop"}.get(asked.path)
        return Reply(status=302, headers={"Location": target}) if target else Reply(body=b"arrived")

    server.reply = answer
    assert call(tmp_path, {"url": f"{server.url}/a"}).outputs["response_body"] == "arrived"
    away = call(tmp_path, {"url": f"{server.url}/away"})
    assert (away.ending, away.outputs["status_code"]) == (Ending.USER_ERROR, 302)
    assert call(tmp_path, {"url": f"{server.url}/loop"}).ending is Ending.FATAL_ERROR


def test_of_a_big_answer_the_beginning_is_kept(tmp_path: Path, server: Server) -> None:
    server.reply = lambda asked: Reply(body=b"x" * (MAX_BODY_BYTES + 1))
    end = call(tmp_path, {"url": server.url})
    assert end.ending is Ending.DONE
    assert len(end.outputs["response_body"]) == MAX_BODY_BYTES
    assert end.artifacts["http"]["truncated"] is True


def test_secrets_of_the_address_stay_out_of_the_log(tmp_path: Path, server: Server) -> None:
    url = server.url.replace("http://", "http://user:hidden@") + "/path?token=hidden"
    context = make_context(tmp_path, {"http": {"url": url}})
    assert run_to_end(Http(), context).ending is Ending.DONE
    log = context.log_file.read_text()
    assert "/path -> 200" in log
    assert "hidden" not in log


def test_a_call_that_was_lost_with_its_engine_is_sent_again_with_the_same_key(
    tmp_path: Path, server: Server
) -> None:
    def answer(asked: Asked) -> Reply:
        if len(server.asked) == 1:
            server.release.wait()
        return Reply()

    server.reply = answer
    context = make_context(tmp_path, {"http": {"url": server.url, "method": "POST"}})

    async def crash() -> None:
        driver = Driver(Http(), context)
        assert isinstance(await driver.start(), Running)
        while not server.asked:
            await asyncio.sleep(0.01)

    asyncio.run(crash())
    assert run_to_end(Http(), context).ending is Ending.DONE
    assert [asked.headers["Idempotency-Key"] for asked in server.asked] == [context.attempt_uuid] * 2
