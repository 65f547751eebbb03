"""Signals, and what external jobs give back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from calve.engine.views import signals as views
from calve.engine.views.pages import PAGE_LIMIT
from calve.errors import ConflictError
from calve.server.bodies import OutputBody, SignalBody
from calve.server.dependencies import Json, Orchestrating, within

router = APIRouter(tags=["signals"])


class DuplicateSignalError(ConflictError):
    """A signal that was sent before; `seq_id` is the number that it has."""

    def __init__(self, name: str, seq_id: int) -> None:
        super().__init__(
            "SIGNAL_DUPLICATE",
            f"the signal '{name}' was sent before, as number {seq_id}",
            "nothing is to be done, or give another request_id",
        )
        self.seq_id = seq_id

    def to_json(self) -> Json:
        """The error with the number of the signal."""
        return {**super().to_json(), "seq_id": self.seq_id}


@router.post("/signals")
def send_signal(orchestrator: Orchestrating, body: SignalBody) -> Json:
    """Send a signal; the same one again is a conflict, and changes nothing."""
    sent = orchestrator.send_signal(body.name, body.params, body.full_payload(), body.request_id)
    if sent.duplicate:
        raise DuplicateSignalError(sent.name, sent.seq_id)
    return orchestrator.get_signal(sent.name, sent.seq_id).to_json()


@router.get("/signals")
def list_signals(
    orchestrator: Orchestrating,
    name: Annotated[str | None, Query(description="Only of this name.")] = None,
    cursor: str | None = None,
    limit: Annotated[int, within(PAGE_LIMIT)] = 50,
) -> Json:
    """The newest signals, of one name or of all."""
    with orchestrator.database.read() as connection:
        return views.list_signals(connection, name, limit, cursor)


@router.get("/signals/{name:path}/instances/{seq}")
def get_signal(
    orchestrator: Orchestrating, name: Annotated[str, Path(description="The name of a signal.")], seq: str
) -> Json:
    """A signal by its number, or the `latest` of a name."""
    return orchestrator.get_signal(name, seq).to_json()


@router.put("/output-data", tags=["steps"])
def put_output(orchestrator: Orchestrating, body: OutputBody) -> Json:
    """Give back params and artifacts of an external job; its step takes them when it ends."""
    orchestrator.put_output(body.external_job_type, body.external_job_id, body.params, body.artifacts)
    return {}
