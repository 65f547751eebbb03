"""The description of the API is complete, and stays so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calve.backfill.store import BACKFILLS_LIMIT
from calve.engine.orchestrator import Orchestrator
from calve.engine.views.pages import PAGE_LIMIT
from calve.engine.views.run_list import RUNS_LIMIT
from calve.server.app import create_app
from calve.server.describing import operations
from calve.server.examples import ANSWERS, REQUESTS
from calve.settings import load_settings
from calve.ui.site import add_pages

Operation = dict[str, Any]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Operation]:
    """All operations by name, those of the twins of pages among them."""
    home: Path = tmp_path_factory.mktemp("home")
    app = add_pages(create_app(Orchestrator(load_settings(home))))
    return dict(operations(app.openapi()))


def test_every_operation_and_every_parameter_is_described(described: dict[str, Operation]) -> None:
    silent = [name for name, operation in described.items() if not operation.get("description")]
    silent += [
        f"{name}: {parameter['name']}"
        for name, operation in described.items()
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    ]
    assert silent == []


def test_every_body_has_an_example(described: dict[str, Operation]) -> None:
    bare = [
        name
        for name, operation in described.items()
        if "requestBody" in operation
        and not any("example" in media for media in operation["requestBody"]["content"].values())
    ]
    assert bare == []


def test_every_answer_has_an_example(described: dict[str, Operation]) -> None:
    bare = [
        name
        for name, operation in described.items()
        if not any("example" in media for media in operation["responses"]["200"]["content"].values())
    ]
    assert bare == []


def test_every_example_belongs_to_an_operation(described: dict[str, Operation]) -> None:
    assert set(REQUESTS) | set(ANSWERS) <= set(described)


def test_errors_are_described_in_the_form_they_have(described: dict[str, Operation]) -> None:
    for name, operation in described.items():
        assert set(operation["responses"]) == {"200", "4XX"}, name


def test_how_many_entries_a_list_may_have_is_told(described: dict[str, Operation]) -> None:
    limits = {
        name: (parameter["schema"].get("minimum"), parameter["schema"].get("maximum"))
        for name, operation in described.items()
        for parameter in operation.get("parameters", ())
        if parameter["name"] == "limit"
    }
    assert limits == {
        "GET /workflows": (1, PAGE_LIMIT),
        "GET /signals": (1, PAGE_LIMIT),
        "GET /runs": (1, RUNS_LIMIT),
        "GET /backfills": (1, BACKFILLS_LIMIT),
    }
