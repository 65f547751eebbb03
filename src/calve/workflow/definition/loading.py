"""The way in: texts and trees to definitions, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from calve.workflow.definition.compile import compile_tree
from calve.workflow.definition.dsl.document import is_document, read_document
from calve.workflow.definition.dsl.jobs import Reading
from calve.workflow.definition.inclusion import FileReader, include_files
from calve.workflow.definition.job_types import DEFAULT_TYPES, JobTypes
from calve.workflow.definition.model import WorkflowDefinition
from calve.workflow.definition.problems import DefinitionWarning, Problems
from calve.workflow.definition.sources.json_source import read_json
from calve.workflow.definition.sources.yaml_source import read_yaml
from calve.workflow.definition.tree import Node, Position, node_of

NO_FILE = "<text>"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A definition that passed all checks, and what is odd about it."""

    definition: WorkflowDefinition
    warnings: list[DefinitionWarning]


def load_yaml(
    text: str, *, file: str = NO_FILE, types: JobTypes = DEFAULT_TYPES, files: FileReader | None = None
) -> Loaded:
    """The definition in a YAML text; InvalidDefinitionError with every problem in it.

    `files` reads what `$FILE{…}` and `$S3{…}` name; without it they are refused.
    """
    problems = Problems()
    return _finish(read_yaml(text, file, problems), types, files, problems)


def load_json(
    text: str, *, file: str = NO_FILE, types: JobTypes = DEFAULT_TYPES, files: FileReader | None = None
) -> Loaded:
    """The definition in a JSON text of Maestro's WorkflowCreateRequest form."""
    problems = Problems()
    return _finish(read_json(text, file, problems), types, files, problems, may_be_document=False)


def load_tree(tree: Node, *, types: JobTypes = DEFAULT_TYPES, files: FileReader | None = None) -> Loaded:
    """The definition in a tree of the YAML language, however it came to be."""
    return _finish(tree, types, files, Problems())


def check_definition(
    definition: WorkflowDefinition, *, types: JobTypes = DEFAULT_TYPES, name: str = NO_FILE
) -> Loaded:
    """A definition that was put together from parts of the model, checked as a whole."""
    tree = node_of(definition.to_json(), Position(name))
    return _finish(tree, types, None, Problems(), may_be_document=False)


def _finish(
    tree: Node | None,
    types: JobTypes,
    files: FileReader | None,
    problems: Problems,
    may_be_document: bool = True,
) -> Loaded:
    if tree is not None and may_be_document and is_document(tree):
        tree = read_document(tree, Reading(problems, types))
    made = None
    if tree is not None:
        made = compile_tree(include_files(tree, files, problems), types, problems)
    problems.raise_if_any()
    assert made is not None, "every way to no definition notes why"
    return Loaded(made, problems.warnings)
