"""Answers that did not change are not sent again: an ETag on what is read, and 304 to who has it."""

from __future__ import annotations

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TAGGED = ("application/json", "text/html")


class ETags:
    """Tags answers to GET by their content. Streams pass as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and look at its answer."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, Headers(scope=scope).get("if-none-match", ""))
        await self._app(scope, receive, answer.take)


class _Answer:
    def __init__(self, send: Send, known: str) -> None:
        self._send = send
        self._known = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        self._start: Message | None = None
        self._body = bytearray()

    async def take(self, message: Message) -> None:
        """Hold what can be tagged until it is whole; send the rest at once."""
        if message["type"] == "http.response.start" and _can_be_tagged(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        tag = f'"{hashlib.blake2b(self._body, digest_size=12).hexdigest()}"'
        headers = MutableHeaders(scope=start)
        headers["etag"] = tag
        headers.setdefault("cache-control", "no-cache")
        body = bytes(self._body)
        if tag in self._known:
            start["status"], body = 304, b""
            for name in ("content-length", "content-type"):
                del headers[name]
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


def _can_be_tagged(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and kind.startswith(_TAGGED)
