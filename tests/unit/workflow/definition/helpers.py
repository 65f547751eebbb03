"""What the tests of the language share."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from calve.errors import NotFoundError
from calve.workflow.definition import (
    DefinitionError,
    InvalidDefinitionError,
    JobTypes,
    Loaded,
    WorkflowDefinition,
    load_json,
    load_yaml,
)

SEEDS = Path(__file__).parent / "seeds"
FILE = "flow.yaml"


@dataclass
class Texts:
    """Files that are only names and texts."""

    files: dict[str, str] = field(default_factory=dict)

    def read_file(self, path: str) -> str:
        if path not in self.files:
            raise NotFoundError("INCLUDE_NOT_FOUND", "there is no such file", "Write it.")
        return self.files[path]

    def read_object(self, url: str) -> str:
        return self.read_file(url)


def read(text: str, **options: Any) -> Loaded:
    return load_yaml(textwrap.dedent(text), file=FILE, **options)


def define(text: str, **options: Any) -> WorkflowDefinition:
    return read(text, **options).definition


def workflow(body: str, **options: Any) -> WorkflowDefinition:
    """The definition of a workflow of which only the inside is given."""
    return define("Workflow:\n  id: flow\n" + textwrap.indent(textwrap.dedent(body), "  "), **options)


def refused(
    text: str, *, types: JobTypes | None = None, as_json: bool = False, **options: Any
) -> list[DefinitionError]:
    """The problems of a text that must have some."""
    if types is not None:
        options["types"] = types
    load = load_json if as_json else load_yaml
    with pytest.raises(InvalidDefinitionError) as caught:
        load(textwrap.dedent(text), file=FILE, **options)
    return caught.value.problems


def successors(definition: WorkflowDefinition) -> dict[str, dict[str, str]]:
    return {step.id: dict(step.transition.successors) for step in definition.workflow.all_steps()}
