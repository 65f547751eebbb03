"""The page about patterns: what it shows works, and it names every code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from calve.steps import registry
from calve.steps.patterns.options import (
    AggregateOptions,
    AppendOptions,
    MergeOptions,
    PatternOptions,
    RangeOptions,
)
from calve.steps.registry import RegisteredTypes
from calve.workflow.definition import load_yaml

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "patterns.md").read_text("utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
MODELS: dict[str, type[PatternOptions]] = {
    str(model.section): model for model in (AppendOptions, MergeOptions, AggregateOptions, RangeOptions)
}


def test_the_workflow_on_the_page_is_valid() -> None:
    (workflow,) = (block for block in BLOCKS if block.startswith("Workflow"))
    assert load_yaml(workflow, types=RegisteredTypes()).warnings == []


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.startswith("incremental_")])
def test_the_options_on_the_page_are_taken(block: str) -> None:
    ((section, options),) = YAML(typ="safe").load(block).items()
    MODELS[section].model_validate(options)
    assert not set(options) - set(MODELS[section].model_fields)


def test_every_code_of_the_patterns_is_on_the_page() -> None:
    folders = (ROOT / "src/calve/steps/patterns", ROOT / "src/calve/spark/step")
    files = [*folders[0].rglob("*.py"), folders[1] / "publishing.py"]
    text = "".join(file.read_text("utf-8") for file in files)
    codes = set(re.findall(r'(?:Error\(\s*|^[A-Z_]+ = )"([A-Z]+(?:_[A-Z]+)+)"', text, re.MULTILINE))
    assert len(codes) > 10
    assert sorted(code for code in codes if f"`{code}`" not in PAGE) == []


def test_every_pattern_has_a_section() -> None:
    for name in registry.BUILT_IN:
        if name.startswith("Incremental") or name == "WriteAuditPublish":
            assert f"\n## {name}\n" in PAGE
