"""A line of what needs attention."""

from __future__ import annotations

from calve.server.dependencies import Json

#: So many lines of a kind: past it, the page of that kind is the place to look.
LINES_LIMIT = 12
_LONGEST = 300


def line(
    status: str, what: str, why: str, *, since: int | None, href: str, act: str, command: str = ""
) -> Json:
    """What it is, since when, why in words, and where to act."""
    short = why if len(why) <= _LONGEST else why[: _LONGEST - 1] + "…"
    return {
        "status": status,
        "what": what,
        "why": short,
        "since": since,
        "href": href,
        "act": act,
        "command": command,
    }
