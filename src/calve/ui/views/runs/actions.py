"""What can be done to a run and to a step: which buttons there are, and what they do."""

from __future__ import annotations

from typing import Any

from fastapi.responses import RedirectResponse
from sqlalchemy import Row

from calve.engine.model.requests import RestartPolicy, RestartRequest
from calve.engine.model.statuses import RunStatus
from calve.engine.views.documents import Json
from calve.server import acting
from calve.server.action_maps import instance_actions, step_actions
from calve.server.dependencies import Number, Orchestrating
from calve.ui.addresses import run_address, step_address, with_query
from calve.ui.forms import Person, go_to
from calve.ui.pages import Pages

pages = Pages()
_INSTANCE = "/workflows/{workflow_id}/instances/{instance_id}"
_BEGINNING = RestartPolicy.RESTART_FROM_BEGINNING
_INCOMPLETE = RestartPolicy.RESTART_FROM_INCOMPLETE
_RUN_LABELS = {
    "STOP": ("Stop", "Stop this run? What runs is ended, and the run counts as stopped.", True),
    "KILL": ("Kill", "Kill this run? What runs is ended, and the run counts as failed.", True),
    "PAUSE": ("Pause", "Pause this run? What runs goes on, and no further step begins.", False),
    "RESUME": ("Resume", "Let this run go on?", False),
    "UNBLOCK": ("Unblock", "Let the runs that wait behind this one go on?", False),
}
_STEP_LABELS = {
    "STOP": ("Stop", "Stop this step? It counts as stopped, and so does the run.", True),
    "KILL": ("Kill", "Kill this step? It counts as failed.", True),
    "SKIP": ("Skip", "Skip this step? What comes after it goes on as if it were done.", False),
    "RESUME": ("Resume", "Let this step go on?", False),
    "BYPASS_STEP_DEPENDENCIES": (
        "Do not wait",
        "Let this step go on without the signals it waits for?",
        False,
    ),
}
_FURTHER_ATTEMPT = "Restart this step? A further attempt begins."
_FURTHER_RUN = "Restart from this step? A further run begins here; all that comes after it runs again."


def run_buttons(run: Row[Any]) -> list[Json]:
    """The buttons for a run, by its status; only the newest run of an instance has any."""
    if not run.latest:
        return []
    made: list[Json] = []
    here = run_address(run.workflow_id, run.instance_id)
    for action in instance_actions()[run.status]:
        if action == "RESTART":
            made += _restarts(run, here)
        elif _is_fitting(run, action):
            made.append(_button(here, action.lower(), *_RUN_LABELS[action]))
    return made


def _is_fitting(run: Row[Any], action: str) -> bool:
    fits = {"PAUSE": not run.paused, "RESUME": run.paused, "UNBLOCK": run.blocking}
    return bool(fits.get(action, True))


def _restarts(run: Row[Any], here: str) -> list[Json]:
    # A run that a step started is restarted with that step.
    if run.parent_run is not None:
        return []
    whole = _button(
        here, "restart", "Restart all", "Run all steps of this instance again?", False, _BEGINNING
    )
    if run.status == RunStatus.SUCCEEDED.value:
        return [whole]
    question = "Run the steps again that are not complete?"
    return [_button(here, "restart", "Restart incomplete", question, False, _INCOMPLETE), whole]


def step_buttons(run: Row[Any], step_id: str, status: str) -> list[Json]:
    """The buttons for a step, by the status of its newest attempt in the newest run."""
    is_over = RunStatus(run.status).is_terminal
    if not run.latest or (is_over and run.parent_run is not None):
        return []
    here = step_address(run.workflow_id, run.instance_id, step_id)
    made: list[Json] = []
    for action in step_actions().get(status, ()):
        if action == "RESTART":
            question = _FURTHER_RUN if is_over else _FURTHER_ATTEMPT
            made.append(_button(here, "restart", "Restart", question, False))
        elif action == "SKIP" or not is_over:
            name = "bypass" if action.startswith("BYPASS") else action.lower()
            made.append(_button(here, name, *_STEP_LABELS[action]))
    return made


def _button(
    here: str, action: str, label: str, question: str, danger: bool, policy: RestartPolicy | None = None
) -> Json:
    return {
        "id": f"ask-{action}" if policy is None else f"ask-{action}-{policy.name.split('_')[-1].lower()}",
        "label": label,
        "question": question,
        "danger": danger,
        "is_first": policy is _INCOMPLETE or action == "resume",
        "href": with_query(f"{here}/actions/{action}", policy=policy),
    }


@pages.html.post(_INSTANCE + "/actions/restart")
def restart(
    orchestrator: Orchestrating,
    person: Person,
    workflow_id: str,
    instance_id: Number,
    policy: RestartPolicy = _INCOMPLETE,
) -> RedirectResponse:
    """Run an instance again."""
    request = RestartRequest(workflow_id=workflow_id, instance_id=instance_id, policy=policy, author=person)
    started = orchestrator.restart(request)
    return go_to(run_address(workflow_id, instance_id), f"Restarted: this is run {started.run_id}.")


@pages.html.post(_INSTANCE + "/actions/{action}")
def act_on_run(
    orchestrator: Orchestrating, person: Person, workflow_id: str, instance_id: Number, action: str
) -> RedirectResponse:
    """Stop, kill, pause, resume or unblock an instance."""
    acting.act_on_instance(orchestrator, person, workflow_id, instance_id, action)
    return go_to(run_address(workflow_id, instance_id), f"{action.capitalize()} requested.")


@pages.html.post(_INSTANCE + "/steps/{step_id}/actions/restart")
def restart_step(
    orchestrator: Orchestrating, person: Person, workflow_id: str, instance_id: Number, step_id: str
) -> RedirectResponse:
    """A further attempt of a step in a run that goes on, or a further run from the step."""
    acting.restart_step(orchestrator, person, workflow_id, instance_id, step_id, {})
    return go_to(step_address(workflow_id, instance_id, step_id), "Restarted.")


@pages.html.post(_INSTANCE + "/steps/{step_id}/actions/{action}")
def act_on_step(
    orchestrator: Orchestrating,
    person: Person,
    workflow_id: str,
    instance_id: Number,
    step_id: str,
    action: str,
) -> RedirectResponse:
    """Stop, kill, skip, resume a step, or let it go on without its signals (bypass)."""
    acting.act_on_step(orchestrator, person, workflow_id, instance_id, step_id, action)
    return go_to(step_address(workflow_id, instance_id, step_id), f"{action.capitalize()} requested.")
