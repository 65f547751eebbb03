"""What stands before every route: the size of bodies, and the token."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from calve.errors import UsageError
from calve.server.errors import answer

BODY_LIMIT = 2 * 1024 * 1024
_OPEN_PATHS = frozenset({"/health", "/api/v3/health"})
_BEARER = "bearer "


class BodyTooBigError(UsageError):
    """A body over the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__("BODY_TOO_BIG", f"the body has more than {limit:,} bytes", "send less at a time")


class BodyLimit:
    """Refuses bodies over a limit, whether their length is stated or not."""

    def __init__(self, app: ASGIApp, limit: int = BODY_LIMIT) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        stated = Headers(scope=scope).get("content-length", "")
        if stated.isdigit() and int(stated) > self._limit:
            await answer(BodyTooBigError(self._limit))(scope, receive, send)
            return
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limit:
                raise BodyTooBigError(self._limit)
            return message

        await self._app(scope, counted, send)


class TokenCheck:
    """Lets only callers through who have the token; anybody may ask whether the server is well."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _OPEN_PATHS or self._is_right(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        refused = UsageError(
            "TOKEN_WRONG",
            "the token is missing or wrong",
            "send it as a bearer token, as in CALVE_API__TOKEN",
        )
        await answer(refused, 401)(scope, receive, send)

    def _is_right(self, headers: Headers) -> bool:
        given = headers.get("authorization", "")
        if not given.lower().startswith(_BEARER):
            return False
        return hmac.compare_digest(given[len(_BEARER) :].strip().encode(), self._token)
