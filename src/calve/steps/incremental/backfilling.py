"""The chunk of a backfill that a step runs in: what it captures, and where it writes.

The scope stands in the initiator of the chunk's run, which restarts keep; steps of loops and subworkflows
find it in the runs around them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from calve.errors import RefusedError, UsageError
from calve.ledger.extents import Extent, SourceNet, SourceRange, extent_from_json
from calve.steps.contract import StepContext
from calve.steps.incremental.naming import shortened
from calve.steps.incremental.scope import frames_of
from calve.steps.incremental.shared import ledger_of

__all__ = ["BackfillScope", "SourceNet", "SourceRange", "backfill_of", "scope_of"]

#: The type of the initiator of a chunk's run, and where its scope stands there.
INITIATOR_TYPE = "BACKFILL"
_SCOPE = "backfill"


@dataclass(frozen=True, slots=True)
class BackfillScope:
    """What one chunk, in one round, reads and writes. `branch` None: its targets are written directly."""

    backfill_id: int
    stage: int
    chunk: int
    round: int
    branch: str | None = None
    #: Full names of the tables that it may write.
    targets: tuple[str, ...] = ()
    #: What it captures of each table, by the table's full name.
    sources: Mapping[str, Extent] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The scope as plain JSON."""
        return {
            "backfill_id": self.backfill_id,
            "stage": self.stage,
            "chunk": self.chunk,
            "round": self.round,
            "branch": self.branch,
            "targets": list(self.targets),
            "sources": {table: extent.to_json() for table, extent in self.sources.items()},
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> BackfillScope:
        """The inverse of `to_json`. Raises BACKFILL_SCOPE_INVALID."""
        try:
            return cls(
                backfill_id=raw["backfill_id"],
                stage=raw["stage"],
                chunk=raw["chunk"],
                round=raw["round"],
                branch=raw["branch"],
                targets=tuple(raw["targets"]),
                sources={table: extent_from_json(extent) for table, extent in raw["sources"].items()},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                "BACKFILL_SCOPE_INVALID",
                f"the initiator of the run has no scope of a backfill: {error}",
                "chunks are started by `calve backfill`, not by hand",
            ) from error

    def initiator(self) -> dict[str, Any]:
        """What starts an instance that runs under this scope: `StartRequest.initiator`."""
        return {"type": INITIATOR_TYPE, _SCOPE: self.to_json()}

    def consumer(self, step_id: str) -> str:
        """Whom a capture step of the chunk captures for: nobody but this chunk, in this round."""
        return shortened(f"backfill-{self.backfill_id}/{self.stage}/{self.chunk}.{self.round}/{step_id}")

    def extent_of(self, table: str) -> Extent:
        """What is captured of a table, by its full name. Raises BACKFILL_SOURCE_UNPLANNED."""
        if table in self.sources:
            return self.sources[table]
        planned = ", ".join(self.sources) or "none"
        raise RefusedError(
            "BACKFILL_SOURCE_UNPLANNED",
            f"{table} is captured, and the plan of backfill {self.backfill_id} has {planned} for this stage",
            "plan the backfill again: the workflow captures other tables than it did when it was planned",
        )


def scope_of(connection: Connection, context: StepContext) -> BackfillScope | None:
    """The scope of the run that a step is in, or of the nearest run around it that has one; None outside of
    backfills."""
    for frame in frames_of(connection, context):
        initiator = json.loads(frame.run.initiator)
        if initiator.get("type") == INITIATOR_TYPE:
            return BackfillScope.from_json(initiator.get(_SCOPE) or {})
    return None


def backfill_of(context: StepContext) -> BackfillScope | None:
    """`scope_of`, on the state of the step's own settings."""
    if context.run == 0:
        return None
    with ledger_of(context.settings).database.read() as connection:
        return scope_of(connection, context)
