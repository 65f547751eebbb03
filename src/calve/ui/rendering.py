"""Templates and what all of them know."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from calve import __version__
from calve.server.dependencies import Json
from calve.state.clock import now_ms
from calve.ui import formats, svg

HERE = Path(__file__).parent
STATIC = HERE / "static"
ZONE_COOKIE, THEME_COOKIE = "calve_zone", "calve_theme"
THEMES = ("auto", "light", "dark")
#: What the navigation shows, in this order.
NAVIGATION = (
    ("/", "Home"),
    ("/workflows", "Workflows"),
    ("/runs", "Runs"),
    ("/tables", "Tables"),
    ("/lineage", "Lineage"),
    ("/backfills", "Backfills"),
    ("/signals", "Signals"),
    ("/settings", "Settings"),
)


def render(
    request: Request,
    template: str,
    model: Json,
    status: int = 200,
    *,
    twin: str = "",
    seen: int | None = None,
) -> HTMLResponse:
    """A page: the model under its own names, and `page` with what every page has.

    `twin` is where the same is as JSON, `seen` the newest event before the model was read.
    """
    zone = request.cookies.get(ZONE_COOKIE, "UTC")
    theme = request.cookies.get(THEME_COOKIE, THEMES[0])
    page = {
        "path": request.url.path,
        "section": _section(request.url.path),
        "twin": twin,
        "seen": seen,
        "here": request.url.path + query_of(request),
        "now": now_ms(),
        "zone": str(formats.zone_of(zone)),
        "theme": theme if theme in THEMES else THEMES[0],
        "told": request.query_params.get("told", ""),
    }
    text = environment().get_template(template).render({**model, "page": page})
    return HTMLResponse(text, status)


@cache
def environment() -> Environment:
    """The one environment of all templates."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        duration=formats.duration,
        ago=formats.ago,
        absolute=formats.absolute,
        iso=formats.iso,
        count=formats.count,
        size=formats.size,
        words=formats.words,
        stamp=formats.plain_stamp,
        path=_path_part,
        coded=_coded,
        spark_bars=svg.spark_bars,
        day_bars=svg.day_bars,
    )
    made.globals.update(navigation=NAVIGATION, asset=asset, version=__version__, wbr=_breakable)
    return made


@cache
def asset(name: str) -> str:
    """The address of a file in `static`, which changes with its content."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def _section(path: str) -> str:
    first = "/" + path.split("/")[1]
    return "/tables" if first == "/captures" else "/runs" if "/instances/" in path else first


def query_of(request: Request) -> str:
    """The query of a page with its question mark, without what is told once."""
    kept = [pair for pair in request.query_params.multi_items() if pair[0] != "told"]
    return f"?{urlencode(kept)}" if kept else ""


def _path_part(value: Any) -> str:
    return quote(str(value), safe="")


def _coded(text: str) -> Markup:
    """A text in which what stands between backticks is a command or another code."""
    pieces = (Markup.escape(piece) for piece in str(text).split("`"))
    return Markup("").join(
        Markup(f"<code>{piece}</code>") if at % 2 else piece for at, piece in enumerate(pieces)
    )


def _breakable(text: str) -> Markup:
    """A long name that may be broken after a dot, a dash or an underscore."""
    escaped = str(Markup.escape(text))
    for sign in "._-/":
        escaped = escaped.replace(sign, sign + "<wbr>")
    return Markup(escaped)
