"""A workflow as a block of Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calve.workflow.definition.building.jobs import Level, caller
from calve.workflow.definition.building.params import entries
from calve.workflow.definition.inclusion import FileReader
from calve.workflow.definition.job_types import DEFAULT_TYPES, JobTypes
from calve.workflow.definition.loading import Loaded, load_tree
from calve.workflow.definition.model import WorkflowDefinition
from calve.workflow.definition.tree import node_of
from calve.workflow.definition.writing.text import to_yaml


class Workflow(Level):
    """A workflow that is put together in Python; printed, it is YAML."""

    def __init__(
        self,
        id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        owner: str | None = None,
        trigger: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        run_strategy: str | None = None,
        workflow_concurrency: int | None = None,
        step_concurrency: int | None = None,
        instance_step_concurrency: int | None = None,
        tags: Sequence[str] | None = None,
        timeout: int | str | None = None,
        criticality: str | None = None,
        dag: str | None = None,
        params: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        super().__init__()
        self._at = caller()
        self._trigger = trigger
        self._params = entries({**(params or {}), **more})
        self._words = {
            "id": id,
            "name": name,
            "description": description,
            "owner": owner,
            "run_strategy": run_strategy,
            "workflow_concurrency": workflow_concurrency,
            "step_concurrency": step_concurrency,
            "instance_step_concurrency": instance_step_concurrency,
            "tags": tags,
            "timeout": timeout,
            "criticality": criticality,
            "dag": dag,
        }

    def build(self, *, types: JobTypes = DEFAULT_TYPES, files: FileReader | None = None) -> Loaded:
        """The definition, checked as a file is; InvalidDefinitionError with every problem in it."""
        words = {key: value for key, value in self._words.items() if value is not None}
        workflow = words | self._params | {"jobs": [job.node() for job in self.jobs]}
        document: dict[str, Any] = {"Workflow": workflow}
        if self._trigger is not None:
            document["Trigger"] = self._trigger
        return load_tree(node_of(document, self._at), types=types, files=files)

    @property
    def definition(self) -> WorkflowDefinition:
        """The definition, with the types of jobs that come with Calve."""
        return self.build().definition

    def to_yaml(self) -> str:
        """The definition as YAML."""
        return to_yaml(self.definition)

    def __str__(self) -> str:
        return self.to_yaml()
