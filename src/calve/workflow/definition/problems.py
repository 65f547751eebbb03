"""What is wrong with a definition: every problem with its place, found, expected and a guess.

UsageError
├── DefinitionError          one problem
└── InvalidDefinitionError   all problems of one definition, at once
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from calve.errors import UsageError
from calve.workflow.definition.tree import Position


class DefinitionError(UsageError):
    """One thing that is wrong with a definition, and where."""

    def __init__(
        self,
        code: str,
        message: str,
        at: Position,
        *,
        found: str | None = None,
        expected: str | None = None,
        suggestion: str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.at = at
        self.found = found
        self.expected = expected
        self.suggestion = suggestion
        super().__init__(code, f"{at}: {message}", remedy or self._advice())
        self.reason = message

    def _advice(self) -> str:
        if self.suggestion is not None:
            return f"Did you mean '{self.suggestion}'?"
        return f"Expected {self.expected}." if self.expected is not None else "Correct it and push again."

    def to_json(self) -> dict[str, Any]:
        """The problem as the CLI and the API show it."""
        return {
            "code": self.code,
            "message": self.reason,
            "remedy": self.remedy,
            "file": self.at.file,
            "line": self.at.line or None,
            "column": self.at.column or None,
            "found": self.found,
            "expected": self.expected,
            "did_you_mean": self.suggestion,
        }


class InvalidDefinitionError(UsageError):
    """A definition that is refused, with everything that is wrong with it."""

    def __init__(self, problems: list[DefinitionError], warnings: list[DefinitionWarning]) -> None:
        self.problems = problems
        self.warnings = warnings
        codes = {problem.code for problem in problems}
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(
            codes.pop() if len(codes) == 1 else "DEFINITION_INVALID",
            problems[0].message + more,
            problems[0].remedy,
        )

    def to_json(self) -> dict[str, Any]:
        """The error with the list of all problems under `errors`."""
        return {**super().to_json(), "errors": [problem.to_json() for problem in self.problems]}


@dataclass(frozen=True, slots=True)
class DefinitionWarning:
    """Something that is accepted, and is probably not what was meant."""

    code: str
    message: str
    at: Position

    def to_json(self) -> dict[str, Any]:
        """The warning as the CLI and the API show it."""
        return {
            "code": self.code,
            "message": self.message,
            "file": self.at.file,
            "line": self.at.line or None,
            "column": self.at.column or None,
        }


class Problems:
    """Collects what is found wrong, so that everything is reported at once."""

    def __init__(self) -> None:
        self._errors: list[DefinitionError] = []
        self._warnings: list[DefinitionWarning] = []

    def error(
        self,
        code: str,
        message: str,
        at: Position,
        *,
        found: str | None = None,
        expected: str | None = None,
        among: Iterable[str] = (),
        remedy: str | None = None,
    ) -> None:
        """Note an error; `among` are the right names, of which the nearest to `found` is suggested."""
        suggestion = None if found is None else nearest(found, among)
        self._errors.append(
            DefinitionError(
                code, message, at, found=found, expected=expected, suggestion=suggestion, remedy=remedy
            )
        )

    def warn(self, code: str, message: str, at: Position) -> None:
        """Note a warning."""
        self._warnings.append(DefinitionWarning(code, message, at))

    @property
    def any(self) -> bool:
        """True if there is an error."""
        return bool(self._errors)

    def codes(self) -> set[str]:
        """The codes of the errors so far."""
        return {problem.code for problem in self._errors}

    @property
    def warnings(self) -> list[DefinitionWarning]:
        """The warnings, in the order of the text, each once."""
        return sorted(dict.fromkeys(self._warnings), key=lambda warning: warning.at)

    def raise_if_any(self) -> None:
        """Refuse the definition if there is an error."""
        if self._errors:
            raise InvalidDefinitionError(self.errors, self.warnings)

    @property
    def errors(self) -> list[DefinitionError]:
        """The errors, in the order of the text, each once."""
        unique = {(problem.code, problem.at, problem.reason): problem for problem in self._errors}
        return sorted(unique.values(), key=lambda problem: problem.at)


def nearest(found: str, among: Iterable[str]) -> str | None:
    """The name that was probably meant: the one that differs least, in any case of letters."""
    by_lower: dict[str, str] = {}
    for name in sorted(among):
        by_lower.setdefault(name.lower(), name)
    close = difflib.get_close_matches(found.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None
