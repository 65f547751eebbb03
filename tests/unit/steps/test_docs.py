"""The page about step types names every type, param and code, and shows what works."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from calve.settings import load_settings
from calve.steps import registry
from calve.steps.registry import RegisteredTypes
from calve.steps.templates import read_template
from calve.workflow.definition import load_yaml

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "steps.md").read_text("utf-8")
SOURCES = ROOT / "src" / "calve" / "steps"
#: These have a page of their own.
PAGES = {
    **dict.fromkeys(("Sql", "Spark"), "spark.md"),
    **dict.fromkeys(("IpCapture", "ICDC", "IpCommit"), "incremental.md"),
    **dict.fromkeys((name for name in registry.BUILT_IN if name.startswith("Incremental")), "patterns.md"),
    "WriteAuditPublish": "patterns.md",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_workflow_on_the_page_is_valid() -> None:
    workflow, template = blocks("yaml")
    assert load_yaml(workflow, types=RegisteredTypes()).warnings == []
    assert read_template(template).job_type == "load"


def test_the_settings_on_the_page_are_taken(tmp_path: Path) -> None:
    text = "".join(block for block in blocks("toml") if "calve.toml" in block)
    (tmp_path / "calve.toml").write_text(text)
    settings = load_settings(tmp_path)
    assert settings.http.allowed_hosts == ("example.com", "*.internal")
    assert settings.steps.pass_environment == ("CALVE_STATE_URL",)


def test_the_entry_point_on_the_page_is_that_of_the_example() -> None:
    (shown,) = (tomllib.loads(block) for block in blocks("toml") if "entry-points" in block)
    example = tomllib.loads((ROOT / "examples" / "steps" / "pyproject.toml").read_text())
    assert shown["project"]["entry-points"] == example["project"]["entry-points"]


@pytest.mark.parametrize("name", registry.BUILT_IN)
def test_every_param_of_a_type_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE
    type_ = registry.find(name)
    assert type_ is not None
    if name in PAGES:
        section = (ROOT / "docs" / PAGES[name]).read_text("utf-8")
    else:
        (section,) = re.findall(rf"^## {name}\n(.*?)(?=^## )", PAGE, re.DOTALL | re.M)
    params = {*type_.schema, *type_.options.model_fields, *getattr(type_, "outputs", ())}
    assert sorted(param for param in params if f"`{param}`" not in section) == []


def test_every_code_is_on_the_page() -> None:
    files = [file for file in SOURCES.rglob("*.py") if not file.name.startswith("spark")]
    text = "".join(file.read_text("utf-8") for file in files)
    codes = set(re.findall(r'"((?:STEP|HTTP|TEMPLATE)_[A-Z_]+)"', text))
    assert codes
    assert sorted(code for code in codes if f"`{code}`" not in PAGE) == []
