"""Names of this machine alone, and requests that came under another name."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from calve.errors import UsageError
from calve.server.errors import answer

_LOCAL = "localhost"


class OwnHost:
    """Refuses requests to a name that is neither this machine's own nor the one in the settings.

    A page of another site can have its own name lead to this machine. For a browser the two are then one
    site, so where no token is asked for, only the name in `Host` tells such a page from a page of Calve.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("host", "")
            if not self._is_own(_name(given)):
                await answer(_refusal(given), 403)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _is_own(self, name: str) -> bool:
        return name == self._host or is_loopback(name) or name.endswith(f".{_LOCAL}")


def is_loopback(host: str) -> bool:
    """True for the names and addresses of this machine alone."""
    if host == _LOCAL:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """The name in a `Host` header, without the port; nothing for what is no host."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _refusal(given: str) -> UsageError:
    return UsageError(
        "HOST_FOREIGN",
        f"found the host '{given[:80]}', expected a name of this machine: this server has no token",
        "ask for http://127.0.0.1 or http://localhost, or set CALVE_API__TOKEN to use other names",
    )
