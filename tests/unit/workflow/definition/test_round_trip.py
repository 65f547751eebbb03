"""A definition is the same after a way through YAML or JSON; and no text breaks the reader."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calve.workflow.definition import DefinitionError, InvalidDefinitionError, load_json, load_yaml, to_yaml
from calve.workflow.definition.loading import NO_FILE
from calve.workflow.definition.writing.document import write_document
from unit.workflow.definition.generated import damaged, requests


@pytest.mark.slow
@settings(max_examples=25)
@given(requests())
def test_yaml_and_json_are_faithful(request: dict[str, Any]) -> None:
    definition = load_json(json.dumps(request)).definition
    written = to_yaml(definition)
    assert load_yaml(written).definition == definition
    assert to_yaml(load_yaml(written).definition) == written
    assert load_json(json.dumps(definition.to_json())).definition == definition


@pytest.mark.slow
@settings(max_examples=25)
@given(requests(), st.data(), st.booleans())
def test_a_damaged_definition_is_refused_or_accepted_and_nothing_else(
    request: dict[str, Any], data: st.DataObject, as_yaml: bool
) -> None:
    document = write_document(load_json(json.dumps(request)).definition) if as_yaml else request
    text = json.dumps(damaged(data, document))
    problems: list[DefinitionError] = []
    try:
        (load_yaml if as_yaml else load_json)(text)
    except InvalidDefinitionError as error:
        problems = error.problems
    assert all(problem.at.file == NO_FILE for problem in problems)
