"""The page about the language shows workflows that are valid, and lists every code there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calve.workflow.definition import load_yaml

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "definition.md").read_text("utf-8")
SOURCES = ROOT / "src" / "calve" / "workflow" / "definition"
BLOCKS = [
    block
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    if re.search("^[Ww]orkflow:", block, re.M)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_workflow_on_the_page_is_valid(block: str) -> None:
    assert load_yaml(block).warnings == []


def test_every_code_is_on_the_page() -> None:
    text = "".join(file.read_text("utf-8") for file in SOURCES.rglob("*.py"))
    codes = set(re.findall(r'(?:error|warn|refuse)\(\s*"([A-Z][A-Z_]+)"', text))
    assert codes
    assert sorted(code for code in codes if f"`{code}`" not in PAGE) == []


def test_the_python_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "definition.md", "exec"), {})
    assert load_yaml(capsys.readouterr().out).definition.workflow.id == "demo.orders"
