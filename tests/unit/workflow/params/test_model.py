from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.errors import UsageError
from calve.workflow.params import (
    InternalMode,
    ParamDefinition,
    ParamMode,
    ParamSource,
    ParamType,
    params_from_json,
    params_to_json,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, ParamType.LONG),
        (1.5, ParamType.DOUBLE),
        (True, ParamType.BOOLEAN),
        ("x", ParamType.STRING),
        ({"a": "b"}, ParamType.STRING_MAP),
        ({"a": 1}, ParamType.MAP),
        ({"a": "b", "c": 1}, ParamType.MAP),
        ({}, ParamType.MAP),
        ([], ParamType.STRING_ARRAY),
        (["a"], ParamType.STRING_ARRAY),
        ([1, 2], ParamType.LONG_ARRAY),
        ([1.5, 2], ParamType.DOUBLE_ARRAY),
        ([True], ParamType.BOOLEAN_ARRAY),
    ],
)
def test_the_type_of_a_literal_is_that_of_its_value(value: object, expected: ParamType) -> None:
    assert ParamDefinition.infer("p", value).type is expected


@pytest.mark.parametrize(
    "value", [None, [{"a": 1}], [[1]], [None], object(), {"a": None}, [1, "a"], [1, 2.5], b"x"]
)
def test_a_value_without_a_type_is_refused(value: object) -> None:
    with pytest.raises(UsageError) as caught:
        ParamDefinition.infer("p", value)
    assert caught.value.code == "PARAM_TYPE"


def test_a_stated_type_must_be_the_inferred_one_but_for_a_map_of_strings() -> None:
    made = ParamDefinition.infer("p", {"a": "b"}, type=ParamType.MAP)
    assert made.members["a"].type is ParamType.STRING
    with pytest.raises(UsageError) as caught:
        ParamDefinition.infer("p", 1, type=ParamType.STRING)
    assert "declared STRING" in caught.value.message


@pytest.mark.parametrize(
    ("type_name", "value", "expected"),
    [
        ("long", "12", 12),
        ("LONG", 12.0, 12),
        ("DOUBLE", 3, 3.0),
        ("DOUBLE", "1.5", 1.5),
        ("STRING", 12, "12"),
        ("STRING", True, "true"),
        ("BOOLEAN", "TRUE", True),
        ("DOUBLE_ARRAY", [1, 2.5], [1.0, 2.5]),
        ("STRING_ARRAY", ["a", 1], ["a", "1"]),
        ("STRING_MAP", {"a": 1}, {"a": "1"}),
    ],
)
def test_a_value_is_converted_where_nothing_is_lost(type_name: str, value: object, expected: object) -> None:
    assert ParamDefinition.from_json("p", {"type": type_name, "value": value}).value == expected


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("LONG", 1.5),
        ("LONG", "x"),
        ("LONG", True),
        ("LONG", 2**63),
        ("DOUBLE", "x"),
        ("DOUBLE", "nan"),
        ("BOOLEAN", 1),
        ("STRING", ["a"]),
        ("LONG_ARRAY", ["1"]),
        ("LONG_ARRAY", 1),
        ("STRING_MAP", "x"),
        ("MAP", "x"),
    ],
)
def test_a_value_of_another_type_is_refused(type_name: str, value: object) -> None:
    with pytest.raises(UsageError) as caught:
        ParamDefinition.from_json("p", {"type": type_name, "value": value})
    assert caught.value.code in ("PARAM_TYPE", "PARAM_INVALID")


@pytest.mark.parametrize(
    "document",
    [
        1,
        {},
        {"value": 1},
        {"type": "LONG"},
        {"type": "LONG", "value": 1, "expression": "1"},
        {"type": "NUMBER", "value": 1},
        {"type": "LONG", "value": 1, "mode": "FREE"},
        {"type": "LONG", "expression": 1},
        {"type": "LONG", "value": 1, "tags": "x"},
        {"type": "MAP", "value": {"a": 1}},
    ],
)
def test_a_definition_that_is_none_is_refused(document: object) -> None:
    with pytest.raises(UsageError) as caught:
        ParamDefinition.from_json("p", document)
    assert caught.value.code == "PARAM_INVALID"
    assert caught.value.remedy


def test_a_schema_may_leave_the_value_open() -> None:
    made = ParamDefinition.from_json("p", {"type": "STRING", "internal_mode": "REQUIRED"})
    assert made.internal_mode is InternalMode.REQUIRED
    assert not made.is_defined


def test_everything_stated_survives_json() -> None:
    document = {
        "value": {"inner": {"expression": "a + 1", "type": "LONG"}, "text": {"value": "x", "type": "STRING"}},
        "type": "MAP",
        "validator": "@NotEmpty",
        "tags": ["a", {"name": "b", "namespace": "USER_DEFINED"}],
        "mode": "CONSTANT",
        "source": "DEFINITION",
        "note": {"any": "thing"},
    }
    made = ParamDefinition.from_json("p", document)
    assert made.to_json() == document
    assert (made.mode, made.source) == (ParamMode.CONSTANT, ParamSource.DEFINITION)


NAMES = st.text("abc", min_size=1, max_size=3)
SCALARS = st.text("ab$", max_size=4) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(-1e9, 1e9)
VALUES = st.recursive(
    SCALARS | st.lists(st.integers(-9, 9), max_size=3) | st.lists(st.text("ab", max_size=2), max_size=3),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_definitions_survive_json(values: dict[str, Any]) -> None:
    params = {name: ParamDefinition.infer(name, value) for name, value in values.items()}
    assert params_from_json(params_to_json(params)) == params
