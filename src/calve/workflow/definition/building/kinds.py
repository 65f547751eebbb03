"""The four kinds of jobs, as calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.workflow.definition.building.jobs import Job, Loop
from calve.workflow.definition.building.params import entries
from calve.workflow.definition.dsl.words import COMMON


def job(
    id: str,
    type: str,
    *,
    type_version: str | None = None,
    retry_policy: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    **more: Any,
) -> Job:
    """A job of a type: a step type, or a job template."""
    words = {"id": id, "type": type, "type_version": type_version, "retry_policy": retry_policy}
    common, rest = _common(more)
    return Job("job", words | common, {**(params or {}), **rest})


def subworkflow(
    id: str,
    workflow_id: str | None = None,
    *,
    version: int | str | None = None,
    sync: bool | None = None,
    explicit_params: bool | None = None,
    params: Mapping[str, Any] | None = None,
    **more: Any,
) -> Job:
    """Another workflow as a job; by default the one of the same id."""
    words = {
        "id": id,
        "workflow_id": workflow_id,
        "version": version,
        "sync": sync,
        "explicit_params": explicit_params,
    }
    common, rest = _common(more)
    return Job("subworkflow", words | common, {**(params or {}), **rest})


def foreach(
    id: str,
    loop_params: Mapping[str, Any] | None = None,
    *,
    ranges: Mapping[str, Mapping[str, int]] | None = None,
    concurrency: int | None = None,
    strict_ordering: bool | None = None,
    dag: str | None = None,
    params: Mapping[str, Any] | None = None,
    **more: Any,
) -> Loop:
    """A loop over every combination of its loop params, of which the first varies fastest."""
    words = {
        "id": id,
        "loop_params": None if loop_params is None else entries(loop_params),
        "ranges": ranges,
        "concurrency": concurrency,
        "strict_ordering": strict_ordering,
        "dag": dag,
    }
    common, rest = _common(more)
    return Loop("foreach", words | common, {**(params or {}), **rest})


def while_(
    id: str,
    condition: str,
    loop_params: Mapping[str, Any] | None = None,
    *,
    dag: str | None = None,
    params: Mapping[str, Any] | None = None,
    **more: Any,
) -> Loop:
    """A loop that goes on as long as the SEL condition holds; the loop params are what it starts with."""
    words = {
        "id": id,
        "condition": condition,
        "loop_params": None if loop_params is None else entries(loop_params),
        "dag": dag,
    }
    common, rest = _common(more)
    return Loop("while", words | common, {**(params or {}), **rest})


def _common(more: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    words = {key: value for key, value in more.items() if key in COMMON}
    return words, {key: value for key, value in more.items() if key not in COMMON}
