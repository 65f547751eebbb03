"""Running the app: where it may listen, and how it begins and ends."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

from calve.errors import RefusedError, UnreachableError, UsageError
from calve.server.hosts import is_loopback
from calve.settings import ApiSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

_BACKLOG = 512
_END_S = 10


class _Server(uvicorn.Server):
    """Sends those home who listen to events before it waits for all requests to end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no further request, and wait for those under way."""
        app: FastAPI = self.config.app  # type: ignore[assignment]
        app.state.hub.close()
        await super().shutdown(sockets)


class Serving:
    """An app on an address. The address is taken when this is made, so the port is known before it runs."""

    def __init__(self, app: FastAPI, settings: ApiSettings) -> None:
        check_address(settings)
        self._socket = _listen(settings.host, settings.port)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=_END_S
        )
        self._server = _Server(config)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        host, port = self._socket.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}"

    def run(self) -> None:
        """Serve until the process is told to end."""
        self._server.run(sockets=[self._socket])

    def start(self) -> None:
        """Serve from a thread of its own, until `stop`."""
        self._thread = threading.Thread(target=self.run, name="calve-server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End what `start` began."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self._socket.close()


def check_address(settings: ApiSettings) -> None:
    """Refuse an address that others can reach, unless there is a token."""
    if not is_loopback(settings.host) and not settings.secret():
        raise RefusedError(
            "TOKEN_REQUIRED",
            f"the server would listen on {settings.host}, where others can reach it, and no token is set",
            "set CALVE_API__TOKEN, or listen on 127.0.0.1",
        )


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise UsageError("ADDRESS_INVALID", f"{host} is no address: {error}", "set api.host") from error
    # With the protocol named, the event loop turns off Nagle's algorithm for every connection.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise UnreachableError(
            "ADDRESS_TAKEN", f"{host}:{port} cannot be taken: {error.strerror}", "use another port: --port 0"
        ) from error
    return made
