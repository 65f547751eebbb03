"""Spark on the lake: the Java finder, the settings, the session; and what scripts may ask of their step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calve.spark.user import StepScope, step_context

__all__ = ["StepScope", "step_context"]


def __getattr__(name: str) -> Any:
    """Imported when it is asked for: most of what is in here runs in no step."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from calve.spark import user

    return getattr(user, name)
