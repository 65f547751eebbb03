"""The examples are valid, and the two ways to write the same workflow agree."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from calve.cli.definitions import load_file, workflow_files

EXAMPLES = Path(__file__).parents[4] / "examples" / "workflows"


@pytest.mark.parametrize("file", workflow_files([EXAMPLES]), ids=lambda file: file.name)
def test_an_example_is_valid_without_a_warning(file: Path) -> None:
    assert load_file(file).warnings == []


def test_python_and_yaml_say_the_same() -> None:
    written = runpy.run_path(str(EXAMPLES / "orders.py"))["orders"]
    assert written.definition == load_file(EXAMPLES / "orders.yaml").definition
