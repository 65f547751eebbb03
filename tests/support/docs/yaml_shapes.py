"""Fragments of definitions, put into a workflow that they are right in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import sqlglot
from ruamel.yaml import YAML

from calve.cli.definitions import FolderReader
from calve.steps.registry import GROUP, RegisteredTypes
from calve.steps.templates import JobTemplate
from calve.workflow.definition import load_yaml
from calve.workflow.definition.job_types import JobType
from support.docs.blocks import ROOT, Block

_JOB_WORDS = frozenset({"retry_policy", "signal_dependencies", "signal_outputs", "timeout", "tags"})
_TOP_LEVEL = re.compile(r"^(?=\S)", re.MULTILINE)
_EXAMPLE = tomllib.loads((ROOT / "examples" / "steps" / "pyproject.toml").read_text(encoding="utf-8"))
_OF_THE_EXAMPLE = frozenset(_EXAMPLE["project"]["entry-points"][GROUP])
_COMMIT = {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"capture_step": "capture"}}}


class _Types(RegisteredTypes):
    """The types of Calve, and those of the package among the examples."""

    def find(self, name: str, version: str | None = None) -> JobType | None:
        """The type of that name."""
        found = super().find(name, version)
        return JobType(name) if found is None and name in _OF_THE_EXAMPLE else found


def check_yaml(block: Block) -> None:
    """Every definition in a block is valid, as `calve validate` sees it."""
    parts = [block.text]
    if "each" in block.notes:
        parts = [part for part in _TOP_LEVEL.split(block.text) if part.strip() and part[0] != "#"]
    for part in parts:
        _check_one(part, block.place)


def check_definition(text: str, place: str) -> None:
    """A whole definition is valid."""
    load_yaml(text, file=place, types=_Types(), files=FolderReader(ROOT))


def _check_one(text: str, place: str) -> None:
    found = YAML(typ="safe", pure=True).load(text)
    if isinstance(found, Mapping) and "job_type" in found.get("definition", {}):
        JobTemplate.from_json(found)
    elif isinstance(found, Mapping) and {"Workflow", "workflow"} & set(found):
        check_definition(text, place)
    else:
        check_definition(_wrapped(found, text), place)


def _wrapped(found: Any, text: str) -> str:
    if isinstance(found, list):
        return _workflow(jobs=text)
    keys = list(found)
    for fits, wrap in _SHAPES:
        if fits(keys):
            return wrap(found, text)
    raise AssertionError(f"a fragment of no known shape: {keys}")


def _workflow(jobs: str, before: str = "", dag: str = "  dag: sequential\n") -> str:
    return f"{before}\nWorkflow:\n  id: example\n  jobs:\n{_indented(jobs, 4)}\n{dag}"


def _trigger(found: Any, text: str) -> str:
    capture = "- job: {id: capture, type: IpCapture, ip_capture: {source_tables: [db.events]}}\n"
    return _workflow(f"{capture}- job: {_COMMIT['job']}", before=text)


def _dag(found: Any, text: str) -> str:
    jobs = "".join(f"- job: {{id: {name}, type: NoOp, rows: 1}}\n" for name in "abcde")
    return _workflow(jobs, dag=_indented(text, 2))


def _job(found: Any, text: str) -> str:
    return _workflow("- job:\n    id: only\n    type: NoOp\n" + _indented(text, 4))


def _pattern(found: Any, text: str) -> str:
    """A section of a pattern, between the capture and the commit that it needs."""
    section = next(key for key in found if key != "type")
    type_ = found.get("type", section.replace("_", ""))
    options = found[section]
    source = _source(options.get("query") or options["script"])
    capture = f"- job: {{id: capture, type: IpCapture, ip_capture: {{source_tables: [{source}]}}}}\n"
    stated = "" if "type" in found else f"    type: {type_}\n"
    step = f"- job:\n    id: write\n    day: 20240101\n{stated}" + _indented(text, 4)
    return _workflow(f"{capture}{step}\n- job: {_COMMIT['job']}")


def _source(query: str) -> str:
    table = sqlglot.parse_one(query.replace("$day", "20240101"), dialect="spark").find(sqlglot.exp.Table)
    assert table is not None, query
    return table.sql(dialect="spark").split(" ")[0]


def _indented(text: str, width: int) -> str:
    return "\n".join(" " * width + line if line.strip() else line for line in text.splitlines())


_SHAPES: tuple[tuple[Callable[[list[str]], bool], Callable[[Any, str], str]], ...] = (
    (lambda keys: keys == ["Trigger"], _trigger),
    (lambda keys: keys == ["dag"], _dag),
    (lambda keys: set(keys) <= _JOB_WORDS, _job),
    (lambda keys: keys[-1].startswith(("incremental_", "write_audit_")), _pattern),
)
