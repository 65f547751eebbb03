"""Answers in Maestro's form to what was done."""

from __future__ import annotations

from typing import Any

from calve.state.clock import now_ms


def action_event(action: str, author: str, message: str) -> dict[str, Any]:
    """A timeline event: somebody did something."""
    return {
        "type": "ACTION",
        "timestamp": now_ms(),
        "action": action,
        "author": {"name": author},
        "message": message,
    }


def log_event(message: str) -> dict[str, Any]:
    """A timeline event: something is to be said."""
    return {"type": "LOG", "timestamp": now_ms(), "level": "INFO", "message": message}
