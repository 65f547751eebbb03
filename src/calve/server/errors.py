"""Errors as callers see them: always one JSON form, never a traceback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException

from calve import logs
from calve.errors import (
    CalveError,
    ConflictError,
    FailedError,
    NotFoundError,
    RefusedError,
    UnreachableError,
    UsageError,
)

log = logs.get_logger(__name__)

#: The first class that an error is one of decides.
_STATUSES: Sequence[tuple[type[CalveError], int]] = (
    (NotFoundError, 404),
    (RefusedError, 422),
    (UsageError, 400),
    (ConflictError, 409),
    (UnreachableError, 503),
    (CalveError, 500),
)
TOO_BIG = frozenset({"BODY_TOO_BIG", "FILE_TOO_BIG"})
_CODES = {404: "ROUTE_NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


def status_of(error: CalveError) -> int:
    """The HTTP status of an error."""
    if error.code in TOO_BIG:
        return 413
    return next(status for kind, status in _STATUSES if isinstance(error, kind))


def answer(error: CalveError, status: int | None = None) -> JSONResponse:
    """The response that tells of an error."""
    found = status or status_of(error)
    return JSONResponse({"status": found, **error.to_json()}, status_code=found)


def handle_errors(app: FastAPI) -> None:
    """Have every error of the app answered in one form."""
    app.add_exception_handler(CalveError, _calve_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(DataError, _unfit_value)
    app.add_exception_handler(Exception, _defect)


async def _calve_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, CalveError)
    return answer(error)


async def _invalid_request(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [_describe(details) for details in error.errors()]
    refused = UsageError("REQUEST_INVALID", problems[0], "see /docs for what this path takes")
    return JSONResponse({"status": 400, **refused.to_json(), "errors": problems}, status_code=400)


def _describe(details: dict[str, Any]) -> str:
    where = ".".join(str(part) for part in details["loc"])
    return f"{where}: {details['msg'].removeprefix('Value error, ')}"


async def _unfit_value(_request: Request, _error: Exception) -> JSONResponse:
    # Such as a text with a zero character, which PostgreSQL does not take.
    return answer(UsageError("VALUE_INVALID", "the state cannot hold a value of the request", "send another"))


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "HTTP_ERROR")
    message = f"{request.method} {request.url.path}: {error.detail}"
    return answer(UsageError(code, message, "see /docs for the paths there are"), error.status_code)


async def _defect(request: Request, error: Exception) -> JSONResponse:
    log.error("a request failed", path=request.url.path, exc_info=error)
    message = f"internal error: {type(error).__name__}"
    return answer(FailedError("INTERNAL", message, "please report it with the log of the server"))
