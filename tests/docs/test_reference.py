"""The reference pages are those that the code makes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import BaseModel
from tools.reference.__main__ import PAGES
from tools.reference.markdown import table
from tools.reference.models import comments_of, default_text, model_within, type_name

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


def test_every_word_of_the_language_is_there_with_its_type() -> None:
    from tools.reference.words import PLACES, other_names, words_table

    from calve.workflow.definition.dsl import words

    known = words.DOCUMENT | words.WORKFLOW | frozenset().union(*words.JOBS.values())
    assert frozenset().union(*(place.words for place in PLACES)) == known
    for place in PLACES:
        rows = [_cells(row) for row in words_table(place).splitlines()[2:]]
        assert all(type_ and says for _, type_, *_, says in rows)
        shown = {name.strip("`") for name, *_ in rows}
        others = {word for word in place.words - shown if f"`{word}` is " in other_names(place)}
        assert shown | others == place.words, place.name


def test_options_are_told_with_their_form_and_default() -> None:
    commands = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert "| `--key TABLE=COLUMN,…` |" in commands
    assert "| $CALVE_HOME or FOLDER/.calve |" in commands


def test_the_data_of_the_pages_is_among_the_paths() -> None:
    paths = (ROOT / "docs" / "reference" / "rest.md").read_text(encoding="utf-8")
    assert "`GET /api/v3/views/home`" in paths


def explained_models() -> Iterator[type[BaseModel]]:
    """Every model that the reference makes a table of."""
    from tools.reference.definition import MODELS
    from tools.reference.settings import section_models
    from tools.reference.words import PLACES

    from calve.settings import Settings
    from calve.steps.registry import BUILT_IN, find

    yield Settings
    yield from section_models().values()
    yield from (model for _, model in MODELS)
    yield from (model for place in PLACES for model in place.models)
    for name in BUILT_IN:
        type_ = find(name)
        assert type_ is not None
        yield type_.options
        for field in type_.options.model_fields.values():
            inner = model_within(field.annotation)
            if inner is not None:
                yield inner


@pytest.mark.parametrize("model", dict.fromkeys(explained_models()), ids=lambda model: model.__name__)
def test_every_field_says_what_it_is_for(model: type[BaseModel]) -> None:
    from tools.reference.settings import section_models

    silent = set(model.model_fields) - set(comments_of(model))
    if model.__name__ == "Settings":
        silent -= set(section_models())
    assert not silent, f"no #: comment before {sorted(silent)} of {model.__name__}"


@pytest.mark.parametrize("name", PAGES)
def test_no_row_of_the_reference_is_without_a_text(name: str) -> None:
    text = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows
    assert [row for row in rows if len(set(_cells(row)) - {""}) < 2] == []


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.replace("\\|", "").strip("|").split("|")]


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
