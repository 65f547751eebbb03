"""Calls to catalogs and stores that may be briefly away: tried again, then reported as unreachable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryError, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from calve.errors import UnreachableError

T = TypeVar("T")

ATTEMPTS = 4
FIRST_WAIT_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 2.0

# These are OSErrors, yet they are answers: asking again gives the same one.
_ANSWERS = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
_DENIED = (
    "ACCESS_DENIED",
    "AccessDenied",
    "INVALID_ACCESS_KEY",
    "SIGNATURE_DOES_NOT_MATCH",
    "NO_SUCH_BUCKET",
    "INVALID_CLIENT_TOKEN",
)
# SQLite reports a missing table with the same class as a locked or unreachable database.
_SQL_ANSWERS = ("no such table", "no such column", "syntax error")


def call(fn: Callable[[], T], what: str, code: str = "CATALOG_UNREACHABLE") -> T:
    """`fn()`, tried again while it fails like something that is away; then `UnreachableError`.

    `what` names the thing that is asked ("catalog lake"). Real answers, such as a missing
    table or a refused permission, are raised at once as they are.
    """
    retrying = Retrying(
        retry=retry_if_exception(is_transient),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(multiplier=FIRST_WAIT_SECONDS, max=_LONGEST_WAIT_SECONDS),
    )
    try:
        return retrying(fn)
    except RetryError as gave_up:
        cause = gave_up.last_attempt.exception()
        raise UnreachableError(
            code,
            f"{what} does not answer after {ATTEMPTS} attempts: {_one_line(cause)}",
            "check that it is up, has room and is named rightly in calve.toml, then try again",
        ) from cause


def is_transient(error: BaseException) -> bool:
    """Whether the same call may well succeed a moment later."""
    from pyiceberg.exceptions import ServerError, ServiceUnavailableError, TooManyRequestsError
    from requests import RequestException
    from sqlalchemy.exc import InterfaceError, OperationalError

    if isinstance(error, OperationalError | InterfaceError):
        return not any(text in str(error) for text in _SQL_ANSWERS)
    if isinstance(error, ServerError | ServiceUnavailableError | TooManyRequestsError):
        return True
    if isinstance(error, RequestException):
        return _is_transient_request(error)
    if isinstance(error, OSError):
        return not isinstance(error, _ANSWERS) and not any(text in str(error) for text in _DENIED)
    return False


def _is_transient_request(error: BaseException) -> bool:
    from requests import ConnectionError as ConnectError
    from requests import HTTPError, Timeout
    from requests.exceptions import ChunkedEncodingError

    if isinstance(error, HTTPError):
        return error.response is not None and error.response.status_code >= 500
    return isinstance(error, ConnectError | Timeout | ChunkedEncodingError)


def _one_line(error: BaseException | None) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
