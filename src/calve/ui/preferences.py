"""What a reader chooses: zone and theme. Kept in cookies, changed by plain links."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from calve.ui.formats import zone_of
from calve.ui.rendering import THEME_COOKIE, THEMES, ZONE_COOKIE, render

router = APIRouter(include_in_schema=False)
_YEAR_S = 365 * 24 * 3600


@router.get("/preferences/zone")
def choose_zone(request: Request, to: str = "", back: str = "/") -> Response:
    """Show times in another zone from now on; without one, the form that asks for it."""
    if not to:
        return render(request, "zone.html", {"zones": _zones(), "back": safe_return(back)})
    return _keep(ZONE_COOKIE, str(zone_of(to)), back)


@router.get("/preferences/theme")
def choose_theme(to: str = THEMES[0], back: str = "/") -> RedirectResponse:
    """Show pages light, dark, or as the system has it."""
    return _keep(THEME_COOKIE, to if to in THEMES else THEMES[0], back)


def safe_return(back: str) -> str:
    """A path of this server: never an address elsewhere."""
    return back if back.startswith("/") and not back.startswith(("//", "/\\")) else "/"


@cache
def _zones() -> tuple[str, ...]:
    return tuple(sorted(available_timezones()))


def _keep(cookie: str, value: str, back: str) -> RedirectResponse:
    response = RedirectResponse(safe_return(back), status_code=303)
    response.set_cookie(cookie, value, max_age=_YEAR_S, samesite="lax", httponly=True)
    return response
