"""What is tried again, and what is an answer."""

from __future__ import annotations

import pytest
import requests
from pyiceberg.exceptions import ForbiddenError, NoSuchTableError, ServerError, ServiceUnavailableError
from sqlalchemy.exc import OperationalError

from calve.errors import UnreachableError
from calve.lake import retry


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_SECONDS", 0.0)


def http_error(status: int) -> requests.HTTPError:
    response = requests.Response()
    response.status_code = status
    return requests.HTTPError(response=response)


def locked() -> OperationalError:
    return OperationalError("UPDATE", {}, Exception("database is locked"))


@pytest.mark.parametrize(
    "error",
    [
        OSError("reset"),
        ConnectionResetError(),
        requests.ConnectionError(),
        requests.Timeout(),
        http_error(503),
        ServerError("500"),
        ServiceUnavailableError("503"),
        locked(),
    ],
)
def test_failures_of_the_way_are_tried_again(error: Exception) -> None:
    failures = [error, error]

    def sometimes() -> str:
        if failures:
            raise failures.pop()
        return "done"

    assert retry.call(sometimes, "it") == "done"


@pytest.mark.parametrize(
    "error",
    [
        NoSuchTableError("t"),
        FileNotFoundError("f"),
        PermissionError("f"),
        ForbiddenError("403"),
        http_error(404),
        OSError("AWS Error ACCESS_DENIED"),
        OperationalError("SELECT", {}, Exception("no such table: t")),
        ValueError("x"),
    ],
)
def test_answers_are_raised_at_once(error: Exception) -> None:
    calls = []

    def answer() -> None:
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        retry.call(answer, "it")
    assert len(calls) == 1


def test_giving_up_names_what_was_asked_and_why() -> None:
    def never() -> None:
        raise locked()

    with pytest.raises(UnreachableError, match=r"the state does not answer .*locked") as caught:
        retry.call(never, "the state", code="STATE_UNREACHABLE")
    assert caught.value.code == "STATE_UNREACHABLE"
