"""What stands before every route: the size of bodies, where a request comes from, and the token."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from calve.errors import UsageError
from calve.server.errors import answer

BODY_LIMIT = 2 * 1024 * 1024
LOGIN = "/login"
#: A browser has the token in a cookie that scripts cannot read.
TOKEN_COOKIE = "calve_token"
_OPEN_PATHS = frozenset({"/health", "/api/v3/health", LOGIN})
_OPEN_FOLDER = "/static/"
_BEARER = "bearer "
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


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


class SameOrigin:
    """Refuses changes that a page of another site asks a browser for. Programs send no origin, and pass."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["method"] not in _READING and _is_foreign(Headers(scope=scope)):
            refused = UsageError(
                "ORIGIN_FOREIGN", "a page of another site asked for this", "ask for it from a page of Calve"
            )
            await answer(refused, 403)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_foreign(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host")
    except ValueError:
        return True


class TokenCheck:
    """Lets only callers through who have the token; anybody may ask whether the server is well."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it; a browser is sent to where it can log in."""
        if scope["type"] != "http" or _is_open(scope["path"]) or self._is_right(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        await self._refusal(scope)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response:
        if scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", ""):
            return RedirectResponse(_login_before(scope), 303)
        refused = UsageError(
            "TOKEN_WRONG",
            "the token is missing or wrong",
            "send it as a bearer token, as in CALVE_API__TOKEN",
        )
        return answer(refused, 401)

    def _is_right(self, headers: Headers) -> bool:
        given = headers.get("authorization", "")
        if given.lower().startswith(_BEARER):
            return is_token(given[len(_BEARER) :].strip(), self._token)
        return is_token(_cookie(headers), self._token)


def is_token(given: str, token: str) -> bool:
    """True for the token, found out in a time that tells nothing about it."""
    return hmac.compare_digest(given.encode(), token.encode())


def _login_before(scope: Scope) -> str:
    """Where to log in, and to go on from there to what was asked for."""
    path, query = scope["raw_path"].decode(), scope["query_string"].decode()
    asked = f"{path}?{query}" if query else path
    return LOGIN if asked == "/" else f"{LOGIN}?{urlencode({'back': asked})}"


def _is_open(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith(_OPEN_FOLDER)


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(TOKEN_COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
