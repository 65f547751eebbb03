"""What can be said about a block without running it."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlglot
from pydantic import TypeAdapter

from calve.backfill.acting import read_body
from calve.cli.main import COMMANDS, load
from calve.server.bodies import SignalBody
from calve.settings import load_settings
from calve.workflow.definition.params import Params
from support.docs.blocks import ROOT, Block
from support.docs.yaml_shapes import check_definition, check_yaml

_END_OF_A_COMMAND = frozenset({"&", "|", ">", "&&"})
PLACEHOLDER = re.compile(r"<([a-z_]+)>")


def check_block(block: Block) -> None:
    """Whatever is wrong with a block that can be seen by looking at it."""
    if block.language and "sketch" not in block.notes:
        _CHECKS[block.language](block)
    if "sketch" in block.notes:
        assert "…" in block.text, f"{block.place}: it could be checked"


def logical_lines(text: str) -> list[str]:
    """The commands of a script: continued lines are one, comments are none."""
    joined = text.replace("\\\n", " ").splitlines()
    return [line for line in joined if line.strip() and not line.lstrip().startswith("#")]


def _check_shell(block: Block) -> None:
    text = PLACEHOLDER.sub(r"\1", block.text)
    subprocess.run(["bash", "-n", "-c", text], check=True, capture_output=True)
    for line in logical_lines(text):
        words = shlex.split(line, comments=True)
        if words[:1] == ["calve"]:
            check_command(words[1:], block.place)
        if words[:1] == ["make"]:
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), f"{block.place}: no target {words[1]}"


def check_command(words: list[str], place: str) -> None:
    """A command line of `calve` has a command that is there, and options that it takes."""
    command = _command(words[0], place)
    given = list(takewhile(lambda word: word not in _END_OF_A_COMMAND, words[1:]))
    while hasattr(command, "commands") and given:
        assert given[0] in command.commands, f"{place}: {words}"
        command, given = command.commands[given[0]], given[1:]
    command.make_context(words[0], given)


def check_mention(words: list[str], place: str) -> None:
    """A command that a sentence names is there, and takes the options that are named with it.

    Words may be alternatives, `stop|kill`, and arguments may be missing.
    """
    commands = [_command(name, place) for name in words[0].split("|")]
    rest = words[1:]
    if hasattr(commands[0], "commands") and rest and not rest[0].startswith("-"):
        known = commands[0].commands
        assert set(rest[0].split("|")) <= known.keys(), f"{place}: {words}"
        commands, rest = [known[name] for name in rest[0].split("|")], rest[1:]
    named = {word.strip("[]") for word in rest if word.strip("[]").startswith("--")}
    for command in commands:
        taken = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
        assert named <= taken, f"{place}: {words}"


def _command(name: str, place: str) -> Any:
    entry = next((entry for entry in COMMANDS if entry.name == name), None)
    assert entry is not None, f"{place}: there is no command {name}"
    return load(entry)


def _check_console(block: Block) -> None:
    commands = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
    assert commands, f"{block.place}: no line begins with $"
    for words in map(shlex.split, commands):
        if words[0] == "calve":
            check_command(words[1:], block.place)


def _check_python(block: Block) -> None:
    ast.parse(block.text, block.place)


def _check_sql(block: Block) -> None:
    assert sqlglot.parse(PLACEHOLDER.sub(r"\1", block.text), dialect="spark"), block.place


def _check_toml(block: Block) -> None:
    found = tomllib.loads(block.text)
    if "project" in found:
        return
    with TemporaryDirectory() as folder:
        (Path(folder) / "calve.toml").write_text(block.text, encoding="utf-8")
        load_settings(Path(folder))


def _check_json(block: Block) -> None:
    found = json.loads(block.text)
    if "body" in block.notes:
        BODIES[block.notes.words["body"]](found)


def _check_diff(block: Block) -> None:
    """Both sides of a diff of definitions are valid."""
    for left_out in "+-":
        side = [line[1:] for line in block.text.splitlines() if not line.startswith(left_out)]
        check_definition("\n".join(side), block.place)


#: What `body=` names, and what reads it.
BODIES: Mapping[str, Callable[[Any], object]] = {
    "backfill": lambda found: read_body(found).to_request(),
    "params": TypeAdapter(Params).validate_python,
    "signal": SignalBody.model_validate,
}
_CHECKS: Mapping[str, Callable[[Block], None]] = {
    "sh": _check_shell,
    "bash": _check_shell,
    "console": _check_console,
    "yaml": check_yaml,
    "python": _check_python,
    "sql": _check_sql,
    "toml": _check_toml,
    "json": _check_json,
    "diff": _check_diff,
}
