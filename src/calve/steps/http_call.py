"""One HTTP call: what is asked, what came back, and the rules of the way between."""

from __future__ import annotations

import fnmatch
import json
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import httpx2

from calve.errors import RefusedError, UsageError
from calve.settings import HttpSettings

#: More of an answer than this is not kept.
MAX_BODY_BYTES = 512 * 1024
MAX_REDIRECTS = 5
_MAX_PORT = 65535
#: Sent twice, these may do a thing twice; a server that knows the header does it once.
_NOT_IDEMPOTENT = frozenset({"POST", "PATCH"})
_IDEMPOTENCY_KEY = "Idempotency-Key"
_MISTAKES = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""

    @classmethod
    def of(cls, method: str, url: str, headers: Mapping[str, str], body: object, key: str) -> Call:
        """A call; a body that is not a text is sent as JSON, `key` tells a repetition from a new call."""
        added: dict[str, str] = {}
        if method.upper() in _NOT_IDEMPOTENT:
            added[_IDEMPOTENCY_KEY] = key
        if body is not None and not isinstance(body, str):
            added["Content-Type"] = "application/json"
        written = {name.lower() for name in headers}
        kept = {name: value for name, value in added.items() if name.lower() not in written}
        return cls(method.upper(), url, {**headers, **kept}, _content(body))

    @property
    def target(self) -> str:
        """The address as a log may show it: without the query and the user, which can hold secrets."""
        url = httpx2.URL(self.url)
        port = "" if url.port is None else f":{url.port}"
        return f"{self.method} {url.scheme}://{url.host}{port}{url.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; without a status code, why nothing did."""

    status_code: int | None = None
    body: str = ""
    truncated: bool = False
    failure: str = ""
    #: True if the call itself is wrong, and sending it again is of no use.
    mistake: bool = False

    def to_json(self) -> dict[str, Any]:
        """The answer as plain JSON."""
        return asdict(self)


def check_target(url: str, settings: HttpSettings) -> None:
    """Refuse an address that is none, or whose host is not allowed."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise UsageError("HTTP_URL_INVALID", f"'{url}' is not a URL: {error}", "correct 'url'") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or (parsed.port or 0) > _MAX_PORT:
        raise UsageError(
            "HTTP_URL_INVALID", f"'{url}' is not an http or https URL", "write https://host/path"
        )
    allowed = settings.allowed_hosts
    if allowed is not None and not any(_matches(parsed.host, pattern) for pattern in allowed):
        raise RefusedError(
            "HTTP_HOST_NOT_ALLOWED",
            f"the host '{parsed.host}' is not among the allowed hosts: {', '.join(allowed) or 'none'}",
            "add it to allowed_hosts under [http] in calve.toml",
        )


async def send(call: Call, settings: HttpSettings) -> Answer:
    """Send a call; redirects are followed to the same server only."""
    try:
        async with httpx2.AsyncClient(
            verify=_trust(), timeout=settings.timeout.total_seconds(), follow_redirects=False
        ) as client:
            request = client.build_request(
                call.method, call.url, headers=dict(call.headers), content=call.content or None
            )
            return await _follow(client, request)
    except (httpx2.TransportError, httpx2.DecodingError, httpx2.InvalidURL, UnicodeError) as error:
        mistake = isinstance(error, (*_MISTAKES, UnicodeError))
        return Answer(failure=f"{type(error).__name__}: {error}".rstrip(": "), mistake=mistake)


async def _follow(client: httpx2.AsyncClient, request: httpx2.Request) -> Answer:
    for _ in range(MAX_REDIRECTS):
        response = await client.send(request, stream=True)
        try:
            following = response.next_request
            if following is None or not _same_server(request.url, following.url):
                return await _read(response)
        finally:
            await response.aclose()
        request = following
    return Answer(failure=f"more than {MAX_REDIRECTS} redirects", mistake=True)


async def _read(response: httpx2.Response) -> Answer:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            break
    text = bytes(body[:MAX_BODY_BYTES]).decode(response.encoding or "utf-8", errors="replace")
    return Answer(response.status_code, text, truncated=len(body) > MAX_BODY_BYTES)


def _same_server(one: httpx2.URL, other: httpx2.URL) -> bool:
    return (one.scheme, one.host, one.port) == (other.scheme, other.host, other.port)


def _matches(host: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(host.lower(), pattern.lower())


def _content(body: object) -> bytes:
    if body is None:
        return b""
    return (body if isinstance(body, str) else json.dumps(body)).encode()


@cache
def _trust() -> ssl.SSLContext:
    """Reading all certificates of the system takes a while, so it is done once."""
    return httpx2.create_ssl_context()
