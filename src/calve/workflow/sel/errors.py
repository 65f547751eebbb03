"""Errors of SEL: SEL_SYNTAX, _TYPE, _VALUE, _UNKNOWN_NAME, _LIMIT, _THROWN and _FUNCTION."""

from __future__ import annotations

from typing import Self

from calve.errors import UsageError


class SelError(UsageError):
    """An expression that cannot be parsed or evaluated; `line` and `column` count from 1."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy)
        self.line: int | None = None
        self.column: int | None = None

    def at(self, position: tuple[int, int]) -> Self:
        """The same error, placed; the innermost place wins."""
        if self.line is None:
            self.line, self.column = position
            self.message = f"line {self.line}, column {self.column}: {self.message}"
            self.args = (self.message,)
        return self


def syntax_error(message: str, remedy: str = "SEL is a small part of Java; see docs/sel.md.") -> SelError:
    """The text is not SEL."""
    return SelError("SEL_SYNTAX", message, remedy)


def type_error(message: str, remedy: str = "Convert the value, or use one of the right type.") -> SelError:
    """A value of a type that does not fit."""
    return SelError("SEL_TYPE", message, remedy)


def value_error(message: str, remedy: str = "Check the value before it is used.") -> SelError:
    """A value of the right type that cannot be used."""
    return SelError("SEL_VALUE", message, remedy)


def unknown_name(message: str, remedy: str = "docs/sel.md lists what there is.") -> SelError:
    """A class, a method or a field that does not exist."""
    return SelError("SEL_UNKNOWN_NAME", message, remedy)


def limit_error(message: str) -> SelError:
    """A limit of the sandbox was reached."""
    return SelError("SEL_LIMIT", message, "Make the expression smaller, or move the work into a step.")
