"""Params with more than a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Param:
    """A param with more than a value: an expression, a type or a mode."""

    value: Any
    type: str | None = None
    mode: str | None = None
    is_expression: bool = False

    def key(self, name: str) -> str:
        """The key of the param in the language."""
        type_ = "" if self.type is None else f"<{self.type}>"
        mode = "" if self.mode is None else f"({self.mode})"
        return f"{'!' if self.is_expression else ''}{name}{type_}{mode}"


def sel(expression: str, type: str | None = None, mode: str | None = None) -> Param:
    """A param that is a SEL expression; without a type it gives a string."""
    return Param(expression, type, mode, is_expression=True)


def param(value: Any, type: str | None = None, mode: str | None = None) -> Param:
    """A literal param with a stated type or mode."""
    return Param(value, type, mode)


def entries(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params as entries of the language."""
    return {
        value.key(name) if isinstance(value, Param) else name: value.value
        if isinstance(value, Param)
        else value
        for name, value in params.items()
    }
