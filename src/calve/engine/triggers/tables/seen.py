"""What the last start of a trigger has seen: heads of tables, and how far its consumers had come."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from calve.engine.outbox import dump


@dataclass(frozen=True, slots=True)
class Head:
    """The newest snapshot of a branch of a table, which is known by its uuid."""

    uuid: str
    snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class Seen:
    """`since_ms` is when the trigger began to live; `version` the one that it started last."""

    since_ms: int
    version: int | None = None
    #: By table and branch.
    heads: dict[str, Head] = field(default_factory=dict)
    #: By consumer, and table and branch: what it had accounted for.
    accounted: dict[str, str] = field(default_factory=dict)

    def to_text(self) -> str:
        """As a column keeps it."""
        return dump(
            {
                "since": self.since_ms,
                "version": self.version,
                "heads": {key: [head.uuid, head.snapshot_id] for key, head in sorted(self.heads.items())},
                "accounted": dict(sorted(self.accounted.items())),
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Seen:
        """The inverse of `to_text`."""
        raw: dict[str, Any] = json.loads(text)
        heads = {key: Head(uuid, snapshot_id) for key, (uuid, snapshot_id) in raw["heads"].items()}
        return cls(raw["since"], raw["version"], heads, raw["accounted"])

    def to_json(self) -> dict[str, Any]:
        """The heads as the API shows them."""
        return {key: head.snapshot_id for key, head in self.heads.items()}
