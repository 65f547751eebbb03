"""Forgetting instances that ended long ago: their rows, and their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from calve.engine.catalog.pruning import Retention, prune_piece
from calve.engine.places import remove_run
from calve.engine.views.lookup import find_workflow
from calve.settings import Settings
from calve.state.database import Database


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How much went, or would go."""

    instances: int = 0
    runs: int = 0

    def to_json(self) -> dict[str, int]:
        """For programs."""
        return asdict(self)


def forget(
    database: Database, settings: Settings, retention: Retention, *, is_trial: bool = False
) -> Iterator[Forgotten]:
    """Forget what is not to be kept, piece by piece; after each, what it has come to so far.

    Safe to stop at any point, and to repeat. A trial changes nothing. Raises WORKFLOW_NOT_FOUND.
    """
    if retention.workflow_id is not None:
        with database.read() as connection:
            find_workflow(connection, retention.workflow_id)
    total = Forgotten()
    next_run: int | None = 0
    while next_run is not None:
        with database.read() if is_trial else database.write() as connection:
            piece = prune_piece(connection, retention, next_run, is_trial=is_trial)
            for run in () if is_trial else piece.runs:
                # Before the state forgets the run: nobody would find its files again.
                remove_run(settings, run.workflow_id, run.instance_id, run.run_id)
        total = Forgotten(total.instances + piece.instances, total.runs + len(piece.runs))
        next_run = piece.next_run
        yield total
