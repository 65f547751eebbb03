"""The reference pages are those that the code makes."""

from __future__ import annotations

import pytest
from tools.reference.__main__ import PAGES
from tools.reference.markdown import table
from tools.reference.models import comments_of, default_text, type_name

from support.docs.blocks import ROOT


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_up_to_date(name: str) -> None:
    made = PAGES[name]()
    kept = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert kept == made, f"docs/reference/{name} is not what the code says: run `make docs`"


def test_every_command_and_step_type_is_there() -> None:
    from calve.cli.main import COMMANDS
    from calve.steps.registry import BUILT_IN

    commands = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    steps = (ROOT / "docs" / "reference" / "steps.md").read_text(encoding="utf-8")
    assert all(f"\n## calve {entry.name}\n" in commands for entry in COMMANDS)
    assert all(f"\n## {name}\n" in steps for name in BUILT_IN)


def test_comments_types_and_defaults_are_told() -> None:
    from calve.settings import SparkSettings

    said = comments_of(SparkSettings)
    assert said["idle_timeout"] == "How long the embedded Spark stays up without a step."
    fields = SparkSettings.model_fields
    assert type_name(fields["session"].annotation) == "`embedded`, `connect`, `submit`"
    assert type_name(fields["url"].annotation) == "text"
    assert default_text(fields["idle_timeout"].default) == "`15m`"


def test_a_table_has_no_empty_columns() -> None:
    assert table(["a", "b"], [["1", ""], ["2|3", ""]]) == "| a |\n| --- |\n| 1 |\n| 2\\|3 |"
    assert table(["a"], []) == ""
