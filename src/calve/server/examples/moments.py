"""What the examples share: when things happened, and who did them."""

from __future__ import annotations

from typing import Any

#: 2026-01-02 06:00 UTC, and what came after.
PUSHED = 1_767_333_600_000
STARTED = PUSHED + 60_000
ENDED = STARTED + 45_000


def action(verb: str, message: str) -> dict[str, Any]:
    """A timeline event: somebody did something."""
    return {
        "type": "ACTION",
        "timestamp": STARTED,
        "action": verb,
        "author": {"name": "ana"},
        "message": message,
    }
