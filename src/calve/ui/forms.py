"""What posted forms carry, who sent them, and where a browser goes afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Depends, Header, Request
from fastapi.responses import RedirectResponse

#: Who acts if a browser does not say it.
SOMEBODY = "ui"


async def _fields(request: Request) -> dict[str, str]:
    async with request.form() as form:
        return {name: value for name, value in form.items() if isinstance(value, str)}


def _person(user: Annotated[str | None, Header(max_length=256)] = None) -> str:
    return user or SOMEBODY


#: The texts of a posted form, by name.
Fields = Annotated[Mapping[str, str], Depends(_fields)]
#: Who posted it.
Person = Annotated[str, Depends(_person)]


def go_to(path: str, told: str) -> RedirectResponse:
    """Send a browser on to a page, which tells what was done."""
    mark = "&" if "?" in path else "?"
    return RedirectResponse(f"{path}{mark}{urlencode({'told': told})}", status_code=303)
