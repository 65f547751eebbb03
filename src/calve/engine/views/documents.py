"""Documents of the state: JSON texts in columns, and the plain values in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def load(text: str | None) -> Any:
    """The document in a column; None if there is none."""
    return None if text is None else json.loads(text)


def load_map(text: str | None) -> Json:
    """The object in a column; empty if there is none."""
    return load(text) or {}


def plain_params(params: Mapping[str, Any]) -> Json:
    """The values of the params that are evaluated, by name."""
    return {
        name: param["evaluated_result"]
        for name, param in params.items()
        if isinstance(param, Mapping) and "evaluated_result" in param
    }


def without_nones(document: Json) -> Json:
    """The document without the keys that say nothing."""
    return {key: value for key, value in document.items() if value is not None}


def version_workflow(definition: Mapping[str, Any]) -> Json:
    """The workflow in a stored definition."""
    return dict(definition["workflow"])


def named(name: str) -> Json:
    """A person or a team, as Maestro shows one."""
    return {"name": name}
