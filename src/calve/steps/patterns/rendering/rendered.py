"""What a pattern comes to: SQL statements, and what to know about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Sql:
    """One statement, and in a line what it does."""

    text: str
    comment: str

    def __str__(self) -> str:
        return f"-- {' '.join(self.comment.split())}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Rendered:
    """Statements in order; none if nothing is to be done."""

    statements: tuple[Sql, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def script(self) -> str:
        """All statements as one script."""
        return ";\n\n".join(str(statement) for statement in self.statements) + (
            ";\n" if self.statements else ""
        )

    def to_json(self) -> dict[str, Any]:
        """The statements for programs."""
        return {
            "statements": [{"sql": x.text, "comment": x.comment} for x in self.statements],
            "notes": list(self.notes),
        }
