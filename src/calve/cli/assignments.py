"""`name=value` on the command line: params, typed as the definition declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calve.errors import UsageError
from calve.workflow.params.texts import param_from_text, signal_value_from_text


def split_assignments(arguments: Sequence[str]) -> dict[str, str]:
    """The names and texts of assignments; a value may hold any character, also `=`."""
    found: dict[str, str] = {}
    for argument in arguments:
        name, separator, text = argument.partition("=")
        if not separator or not name:
            raise UsageError("ASSIGNMENT_INVALID", f"found '{argument}'", "write params as name=value")
        if name in found:
            raise UsageError("ASSIGNMENT_INVALID", f"'{name}' is given twice", "give each param once")
        found[name] = text
    return found


def read_params(arguments: Sequence[str], declared: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Params in Maestro's form: of the declared type, or of the type that the text looks like."""
    return {
        name: param_from_text(name, text, declared.get(name)).to_json()
        for name, text in split_assignments(arguments).items()
    }


def read_signal_params(arguments: Sequence[str]) -> dict[str, str | int]:
    """Params of a signal, which are texts and whole numbers."""
    return {name: signal_value_from_text(text) for name, text in split_assignments(arguments).items()}
