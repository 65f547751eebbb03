"""`docs/reference/cli.md`: every command with its arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calve.cli.main import COMMANDS, PROGRAM, load
from tools.reference.markdown import code, page, paragraphs, table

_INTRODUCTION = (
    "Every command with what it takes. Exit codes, and what commands print for programs, are in "
    "[command line](../cli.md)."
)
_LEFT_OUT = frozenset({"--help"})
#: A default that is told in the text.
_TOLD = re.compile(r"\s*\[default: (?P<default>.*)\]")
_EXAMPLE = re.compile(r"(?P<before>.*?)(?P<word>Examples?): (?P<examples>.*)")


def make() -> str:
    """The page."""
    return page("Commands", _INTRODUCTION, _parts())


def _parts() -> Iterator[str]:
    for entry in COMMANDS:
        yield from _describe(load(entry), [PROGRAM, entry.name])


def _describe(command: Any, path: list[str]) -> Iterator[str]:
    yield f"## {' '.join(path)}" if len(path) == 2 else f"### {' '.join(path)}"
    yield _help(command.help)
    inner = getattr(command, "commands", None)
    if inner is not None:
        for name, one in inner.items():
            yield from _describe(one, [*path, name])
        return
    rows = [_row(param) for param in command.params if not _LEFT_OUT & set(param.opts)]
    yield table(["argument or option", "", "default"], rows)


def _help(text: str | None) -> str:
    """The docstring; its example as code."""
    parts = []
    for part in paragraphs(text).split("\n\n"):
        found = _EXAMPLE.fullmatch(part)
        if found is None:
            parts.append(part)
            continue
        examples = " · ".join(code(one) for one in found["examples"].split(" · "))
        parts.append(f"{found['before']}{found['word']}: {examples}")
    return "\n\n".join(parts)


def _row(param: Any) -> list[str]:
    if param.param_type_name == "argument":
        name = code(_argument(param))
        return [name, _says(param), ""]
    value = f" {param.metavar}" if param.metavar else ""
    flag = " · ".join(code(option + value) for option in [*param.opts, *param.secondary_opts])
    return [flag, _says(param), _default(param)]


def _argument(param: Any) -> str:
    name = (param.metavar or param.name).strip("[]…").upper()
    name += "…" if param.nargs == -1 else ""
    return name if param.required else f"[{name}]"


def _says(param: Any) -> str:
    text = _TOLD.sub("", param.help or "").strip()
    return f"{text} Required." if param.required and param.param_type_name == "option" else text


def _default(param: Any) -> str:
    told = _TOLD.search(param.help or "")
    if told is not None:
        return told["default"]
    shown = getattr(param, "show_default", True)
    if isinstance(shown, str):
        return shown
    plain = isinstance(param.default, str | int | Path) and not isinstance(param.default, bool)
    return code(str(param.default)) if shown and plain else ""
