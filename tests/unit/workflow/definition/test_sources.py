"""Texts: what is YAML and JSON here, and what is refused before anybody looks at the workflow."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.workflow.definition.problems import Problems
from calve.workflow.definition.sources.json_source import read_json
from calve.workflow.definition.sources.limits import SIZE_LIMIT
from calve.workflow.definition.sources.yaml_source import read_yaml
from calve.workflow.definition.tree import Node
from unit.workflow.definition.helpers import refused

Reader = Callable[[str, str, Problems], Node | None]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def yaml(text: str) -> Node:
    problems = Problems()
    node = read_yaml(text, "f.yaml", problems)
    assert problems.errors == []
    assert node is not None
    return node


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("no", "no"),
        ("true", True),
        ("12:30:00", "12:30:00"),
        ("2024-01-01", "2024-01-01"),
        ("012", 12),
        ("0x1f", 31),
        ("-0o17", -15),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("~", None),
        ("'1'", "1"),
    ],
)
def test_scalars_are_those_of_yaml_1_2_and_dates_are_texts(text: str, value: object) -> None:
    found = yaml(f"a: {text}\n").plain()["a"]
    assert found == value
    assert type(found) is type(value)


def test_every_key_and_value_knows_its_place() -> None:
    node = yaml("a:\n  b: [1, 'x']\n")
    inner = node.get("a", "b")
    assert inner is not None
    assert str(node.keys["a"]) == "f.yaml:1:1"
    assert str(inner.at) == "f.yaml:2:6"
    assert [str(item.at) for item in inner.items()] == ["f.yaml:2:7", "f.yaml:2:10"]
    assert str(inner.items()[1].inside(0)) == "f.yaml:2:11"


def test_anchors_and_merges_are_expanded() -> None:
    assert yaml("a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\n").plain()["b"] == {"x": 1, "y": 3}


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: 1\nb: 2\na: 3\n", "KEY_DUPLICATE", 3, 1),
        ("a: {b: 1,\n  b: 2}\n", "KEY_DUPLICATE", 2, 3),
        ("a: [1\n", "YAML_SYNTAX", 2, 1),
        ("a: b: c\n", "YAML_SYNTAX", 1, 5),
        ("", "YAML_SYNTAX", 0, 0),
        ("a: !thing 3\n", "YAML_SYNTAX", 1, 4),
        ("? [1]\n: 2\n", "YAML_SYNTAX", 1, 3),
        ("a: &a [*a]\n", "YAML_TOO_DEEP", 1, 4),
        ("[" * 5000, "YAML_TOO_DEEP", 0, 0),
        ("a: 1\n---\nb: 2\n", "YAML_SYNTAX", 2, 1),
        ("a: \x00\n", "YAML_SYNTAX", 0, 0),
    ],
)
def test_a_text_that_is_not_one_document_is_refused_with_its_place(
    text: str, code: str, line: int, column: int
) -> None:
    problems = Problems()
    read_yaml(text, "f.yaml", problems)
    (problem,) = problems.errors
    assert (problem.code, problem.at.line, problem.at.column) == (code, line, column)


def test_an_expression_key_without_quotes_is_explained() -> None:
    (problem,) = refused("Workflow:\n  !dates<array<long>>: x\n")
    assert problem.code == "YAML_SYNTAX"
    assert problem.remedy.startswith("Quote a key that begins with '!'")


def test_aliases_that_explode_are_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    problems = refused("\n".join(lines))
    assert "YAML_ALIASES" in {problem.code for problem in problems}


@pytest.mark.parametrize("as_json", [False, True])
def test_a_file_over_the_limit_is_refused(as_json: bool) -> None:
    (problem,) = refused('{"a": "' + "ä" * (SIZE_LIMIT // 2) + '"}', as_json=as_json)
    assert problem.code == "FILE_TOO_BIG"
    assert problem.expected == "at most 262,144 bytes"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a" 1}', 1, 6),
        ('{"a": 1,\n}', 2, 1),
        ("[1 2]", 1, 4),
        ("", 1, 1),
        ('{"a": 01}', 1, 8),
        ('{"a": "\\x"}', 1, 8),
        ("[1]\n x", 2, 2),
        ("[" * 200, 1, 102),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    (problem,) = refused(text, as_json=True)
    assert (problem.code, problem.at.line, problem.at.column) == ("JSON_SYNTAX", line, column)


def test_a_key_twice_in_json_is_refused() -> None:
    problems = Problems()
    read_json('{"a": 1,\n "a": 2}', "f.json", problems)
    (problem,) = problems.errors
    assert (problem.code, problem.at.line, problem.at.column) == ("KEY_DUPLICATE", 2, 2)


@given(JSON_VALUES, st.sampled_from([None, 2]))
def test_json_is_read_as_the_standard_library_reads_it(value: object, indent: int | None) -> None:
    problems = Problems()
    node = read_json(json.dumps(value, indent=indent), "f.json", problems)
    assert problems.errors == []
    assert node is not None
    assert node.plain() == value


@pytest.mark.parametrize("read", [read_yaml, read_json])
def test_halves_of_characters_are_put_together_or_refused(read: Reader) -> None:
    whole, half = Problems(), Problems()
    node = read('{"a": "\\ud83d\\ude00"}', "f", whole)
    assert node is not None
    assert node.plain() == {"a": "😀"}
    read('{"a": "\\ud83d"}', "f", half)
    assert [problem.code for problem in half.errors] == ["TEXT_INVALID"]
