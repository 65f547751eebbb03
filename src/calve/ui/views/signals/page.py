"""Signals: the newest, who waits, and a form to send one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from calve.engine.orchestrator import Orchestrator
from calve.errors import UsageError
from calve.server.dependencies import LARGEST, Json, Orchestrating
from calve.ui.addresses import with_query
from calve.ui.commands import command
from calve.ui.forms import Fields, go_to
from calve.ui.pages import Pages
from calve.ui.rendering import render
from calve.ui.views.signals.finding import sent_signals, subscribers, waiting_steps
from calve.ui.views.signals.form import NO_SIGNAL, read_signal

pages = Pages()
_TEMPLATE = "signals.html"


@pages.page("/signals", _TEMPLATE)
def signals(
    orchestrator: Orchestrating,
    name: Annotated[str, Query(max_length=512)] = "",
    cursor: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
) -> Json:
    """The newest signals, of all names or of one, and who waits for which."""
    return _page(orchestrator, name.strip(), cursor)


@pages.html.post("/signals")
def send(request: Request, orchestrator: Orchestrating, fields: Fields) -> Response:
    """Send a signal, or show the form again with what is wrong."""
    try:
        name, params, payload = read_signal(fields)
        sent = orchestrator.send_signal(name, params, payload, fields.get("request_id", "").strip() or None)
    except UsageError as error:
        return render(request, _TEMPLATE, _page(orchestrator, "", None, fields, error), 400)
    said = "was sent before" if sent.duplicate else "is sent"
    return go_to("/signals", f"The signal {name} {said}, as number {sent.seq_id}.")


def _page(
    orchestrator: Orchestrator,
    name: str,
    cursor: int | None,
    typed: Mapping[str, str] | None = None,
    problem: UsageError | None = None,
) -> Json:
    with orchestrator.database.read() as connection:
        found, older = sent_signals(connection, name, cursor)
        started, more_started = subscribers(connection, name)
        steps, more_steps = waiting_steps(connection, name)
    return {
        "name": name,
        "signals": found,
        "waiting": {"subscribers": started, "steps": steps, "is_cut": more_started or more_steps},
        "newer": with_query("/signals", name=name) if cursor is not None else None,
        "older": with_query("/signals", name=name, cursor=older) if older is not None else None,
        "typed": {**NO_SIGNAL, "name": name, **(typed or {})},
        "problem": None if problem is None else problem.to_json(),
        "command": command("signal", name or "NAME"),
    }
