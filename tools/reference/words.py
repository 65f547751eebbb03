"""The words of the YAML language as tables: by the model where it has them, else by what is said here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from calve.workflow.definition.dsl import words
from calve.workflow.definition.model import Workflow, WorkflowDefinition
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.steps import ForeachStep, StepBase, SubworkflowStep, TypedStep, WhileStep
from tools.reference.markdown import code, table
from tools.reference.models import field_rows

_HEAD = ["word", "type", "default", ""]
#: These come first in a table.
_FIRST = (
    "Workflow",
    "id",
    "type",
    "workflow_id",
    "condition",
    "params",
    "name",
    "description",
    "jobs",
    "dag",
)
_JOBS = ("list of map", "required", "The jobs, each a map of one key, its kind.")
_DAG = (
    "text, map or list",
    "",
    "The order of the jobs: `sequential`, `parallel`, or edges. Without it all run at once.",
)
#: Words that the model does not have, or has in another form: type, default, and what they say.
_IN_YAML: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "the file": {
        "Workflow": ("map", "required", "The workflow: see below."),
        "Description": ("text", "", "What the workflow is for."),
        "Trigger": ("map or list of map", "", "What starts it: one trigger or several, of the kinds below."),
        "Properties": ("map", "", "What changes without a new version: see below."),
        "metadata": ("map", "", "Further keys, kept for programs."),
    },
    "Workflow": {
        "jobs": _JOBS,
        "dag": _DAG,
        "owner": ("text", "who pushes", "A person or a team, by name."),
        "run_strategy": ("text", "`sequential`", "Which instances run when they would overlap."),
        "workflow_concurrency": (
            "whole number",
            "`20`",
            "How many instances run at the same time, with `run_strategy: parallel`.",
        ),
        "step_concurrency": (
            "whole number",
            "`20`",
            "How many steps of the workflow run at the same time, in all its instances.",
        ),
    },
    "every job": {
        "transition": (
            "text, list or map",
            "",
            "What comes after it, as in `dag`. It is stronger than what `dag` says.",
        ),
    },
    "job": {"type_version": ("text", "", "The version of the job template that `type` names.")},
    "subworkflow": {
        "workflow_id": ("text", "its own `id`", "The workflow that it starts."),
        "version": ("text", "`active`", "The version of it: `active`, `latest`, `default`, or a number."),
    },
    "foreach": {
        "params": (
            "map of array",
            "",
            "The params of the loop: an iteration for every combination of their values.",
        ),
        "ranges": ("map of map", "", "Params of the loop that count: see below."),
        "jobs": _JOBS,
        "dag": _DAG,
    },
    "while": {
        "params": ("map of param", "", "The params of the loop, with the values that it starts with."),
        "jobs": _JOBS,
        "dag": _DAG,
    },
}
#: Other names of words.
_SAME: Mapping[str, str] = {
    "workflow": "Workflow",
    "description": "Description",
    "trigger": "Trigger",
    "Triggers": "Trigger",
    "triggers": "Trigger",
    "properties": "Properties",
    "subworkflow_id": "workflow_id",
    "subworkflow_version": "version",
    "job_concurrency": "concurrency",
    "loop_params": "params",
}
_RANGE = [
    ["`from`", "whole number", "`0`", "The first value."],
    ["`to`", "whole number", "required", "The first value after the last."],
    [
        "`increment`",
        "whole number",
        "`1`",
        "What is added from one value to the next; below 0 it counts down.",
    ],
]


@dataclass(frozen=True, slots=True)
class Place:
    """Where words stand; `models` have what they come to."""

    name: str
    words: frozenset[str]
    models: tuple[type[BaseModel], ...]


PLACES: tuple[Place, ...] = (
    Place("the file", words.DOCUMENT, (WorkflowDefinition,)),
    Place("Workflow", words.WORKFLOW, (Workflow, Properties)),
    Place("every job", words.COMMON, (StepBase,)),
    Place("job", words.JOBS["job"] - words.COMMON, (TypedStep,)),
    Place("subworkflow", words.JOBS["subworkflow"] - words.COMMON, (SubworkflowStep,)),
    Place("foreach", words.JOBS["foreach"] - words.COMMON, (ForeachStep,)),
    Place("while", words.JOBS["while"] - words.COMMON, (WhileStep,)),
)


def words_table(place: Place) -> str:
    """The words of a place, each with its type, its default and what it says."""
    own = {word for word in place.words if not _is_other_name(word, place.words)}
    return table(_HEAD, [_row(place, word) for word in sorted(own, key=_order)])


def ranges_table() -> str:
    """What stands in a range of a foreach."""
    return table(_HEAD, _RANGE)


def other_names(place: Place) -> str:
    """Which words have another name."""
    pairs = [(word, _SAME[word]) for word in sorted(place.words) if _is_other_name(word, place.words)]
    listed = ", ".join(f"{code(other)} is {code(word)}" for other, word in pairs)
    return f"Other names: {listed}." if listed else ""


def _is_other_name(word: str, among: Collection[str]) -> bool:
    return _SAME.get(word) in among


def _order(word: str) -> tuple[int, str]:
    return (_FIRST.index(word) if word in _FIRST else len(_FIRST), word)


def _row(place: Place, word: str) -> list[str]:
    stated = _IN_YAML.get(place.name, {}).get(word)
    if stated is not None:
        return [code(word), *stated]
    return next(rows[word] for rows in map(field_rows, place.models) if word in rows)
