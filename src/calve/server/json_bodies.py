"""JSON bodies that can be kept and told again: what cannot is refused before any route sees it."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from calve.errors import CalveError, UsageError
from calve.server.errors import answer

#: Deeper values could be stored, but not be read again.
DEPTH_LIMIT = 100
_READING = frozenset({"HEAD", "OPTIONS"})


class JsonBodies:
    """Refuses JSON with half of a character, with a number that is none, or nested without end.

    Other bodies pass, and so does what is no JSON at all: its route says what it expected.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["method"] in _READING:
            await self._app(scope, receive, send)
            return
        try:
            body = await _read(receive)
            check_json(body)
        except CalveError as error:
            await answer(error)(scope, receive, send)
            return
        await self._app(scope, _again(body, receive), send)


def check_json(body: bytes) -> None:
    """Refuse JSON that cannot be kept. Raises VALUE_INVALID."""
    if not body:
        return
    try:
        value = json.loads(body)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        return
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        found, depth = waiting.pop()
        if depth > DEPTH_LIMIT:
            raise _too_deep()
        _check_value(found)
        if isinstance(found, dict):
            waiting.extend((part, depth + 1) for pair in found.items() for part in pair)
        elif isinstance(found, list):
            waiting.extend((part, depth + 1) for part in found)


def _check_value(value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise _invalid(f"the body has the number {value}", "send a number, or a text")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise _invalid(
                f"a text of the body is no Unicode: {error.reason}", "send whole characters"
            ) from None


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    is_given = False

    async def give() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _too_deep() -> UsageError:
    return _invalid(f"the body is nested more than {DEPTH_LIMIT} levels deep", "send flatter values")


def _invalid(found: str, remedy: str) -> UsageError:
    return UsageError("VALUE_INVALID", found, remedy)
