"""Logging in with a browser, where the server has a token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from calve.server.dependencies import Orchestrating
from calve.server.guards import LOGIN, TOKEN_COOKIE, is_token
from calve.ui.preferences import safe_return
from calve.ui.rendering import render

router = APIRouter(include_in_schema=False)
_WEEK_S = 7 * 24 * 3600


@router.get(LOGIN)
def ask_for_token(request: Request) -> HTMLResponse:
    """The form that asks for the token."""
    return render(request, "login.html", {"is_wrong": False})


@router.post(LOGIN)
def log_in(
    request: Request, orchestrator: Orchestrating, token: Annotated[str, Form()] = "", back: str = "/"
) -> Response:
    """Keep the token in a cookie that only this server gets, and no script; go on to what was asked for."""
    expected = orchestrator.settings.api.secret()
    if expected and not is_token(token.strip(), expected):
        return render(request, "login.html", {"is_wrong": True}, 401)
    response = RedirectResponse(safe_return(back), status_code=303)
    if expected:
        response.set_cookie(
            TOKEN_COOKIE,
            expected,
            max_age=_WEEK_S,
            httponly=True,
            # Sent along with a link that was clicked elsewhere; changes are guarded by their origin.
            samesite="lax",
            secure=_is_secure(request),
        )
    return response


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
