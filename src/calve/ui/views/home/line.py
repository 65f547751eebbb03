"""A line of what needs attention."""

from __future__ import annotations

from calve.server.dependencies import Json
from calve.ui.addresses import with_query, workflow_address
from calve.ui.commands import command

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


def trigger_line(status: str, workflow_id: str, why: str, since: int | None) -> Json:
    """A line about the triggers of a workflow, which lead to why they did, or did not, start something."""
    return line(
        status,
        workflow_id,
        why,
        since=since,
        href=with_query(workflow_address(workflow_id), tab="triggers"),
        act="Triggers",
        command=command("triggers", workflow_id),
    )


def with_more(lines: list[Json], more: Json) -> list[Json]:
    """The first of some lines; if there are others, `more` after them says where these are."""
    return lines if len(lines) <= LINES_LIMIT else [*lines[:LINES_LIMIT], more]


def sentence(words: str) -> str:
    """Words as a sentence of their own."""
    return f"{words[:1].upper()}{words[1:]}."
