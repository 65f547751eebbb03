"""What people do to a workflow from its page."""

from __future__ import annotations

from fastapi.responses import RedirectResponse

from calve.server.acting import act_on_workflow
from calve.server.dependencies import Orchestrating
from calve.ui.addresses import workflow_address
from calve.ui.forms import Fields, Person, go_to
from calve.ui.pages import Pages

pages = Pages()

_DONE = {
    "pause": "The queue is held: instances gather, and none begins.",
    "resume": "The queue goes on.",
    "unblock": "Failed instances no longer hold back others: {count}.",
    "stop": "Instances told to stop: {count}.",
}


@pages.html.post("/workflows/{workflow_id}/activate")
def activate(
    orchestrator: Orchestrating, person: Person, workflow_id: str, fields: Fields
) -> RedirectResponse:
    """Make a version the one that triggers and starts use."""
    version = orchestrator.activate(workflow_id, fields.get("version", "latest"), person)
    return go_to(workflow_address(workflow_id), f"Version {version} is active.")


@pages.html.post("/workflows/{workflow_id}/deactivate")
def deactivate(orchestrator: Orchestrating, person: Person, workflow_id: str) -> RedirectResponse:
    """Let the triggers rest."""
    orchestrator.deactivate(workflow_id, person)
    return go_to(workflow_address(workflow_id), "No version is active: nothing starts it by itself.")


@pages.html.post("/workflows/{workflow_id}/actions/{action}")
def act(orchestrator: Orchestrating, person: Person, workflow_id: str, action: str) -> RedirectResponse:
    """Pause, resume, unblock, stop or kill."""
    done = act_on_workflow(orchestrator, person, workflow_id, action)
    told = _DONE.get(action, "Instances told to end: {count}.")
    return go_to(workflow_address(workflow_id), told.format(count=done.get("info")))
