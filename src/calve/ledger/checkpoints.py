"""Checkpoints as people look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calve.ledger.chain import Chain, LinkState
from calve.ledger.records import CaptureRecord, Position
from calve.state.clock import to_iso


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A consumer's position, and the open captures on it."""

    position: Position
    open_captures: tuple[CaptureRecord, ...]

    @classmethod
    def of(cls, position: Position, open_captures: Sequence[CaptureRecord]) -> Checkpoint:
        """A position with those of the captures that are on it."""
        mine = (x for x in open_captures if position.id in {source.position_id for source in x.sources})
        return cls(position, tuple(mine))

    def to_json(self) -> dict[str, Any]:
        """The checkpoint as the CLI and the API show it."""
        position = self.position
        return {
            "consumer": position.consumer,
            "table": position.table_name,
            "table_uuid": position.table_uuid,
            "branch": position.branch,
            "snapshot_id": position.chain.frontier,
            "committed_ahead": _spans(position.chain, LinkState.COMMITTED),
            "gaps": _spans(position.chain, LinkState.GAP),
            "open_captures": [
                {
                    "capture_id": record.id,
                    "ready": record.ready_at is not None,
                    "owner": record.owner,
                    "run_ref": record.run_ref,
                    "created_at": to_iso(record.created_at),
                }
                for record in self.open_captures
            ],
            "updated_at": to_iso(position.updated_at),
        }


def _spans(chain: Chain, state: LinkState) -> list[list[int | None]]:
    return [
        [link.span.from_snapshot_exclusive, link.span.to_snapshot_inclusive]
        for link in chain.links
        if link.state is state
    ]
