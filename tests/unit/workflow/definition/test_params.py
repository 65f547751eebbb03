"""Params of the YAML language: keys, types, values."""

from __future__ import annotations

import pytest

from calve.workflow.definition.dsl.keys import ParamKey, parse_key, write_key
from calve.workflow.params.model import ParamMode, ParamType
from unit.workflow.definition.helpers import refused, workflow

JOBS = "jobs: [{job: {id: a, type: NoOp}}]\n"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("foo", ParamKey("foo", False, None, None)),
        ("!foo", ParamKey("foo", True, None, None)),
        ("foo<long>", ParamKey("foo", False, ParamType.LONG, None)),
        ("foo<LONG>", ParamKey("foo", False, ParamType.LONG, None)),
        ("foo<long>(constant)", ParamKey("foo", False, ParamType.LONG, ParamMode.CONSTANT)),
        ("foo(mutable_on_start)", ParamKey("foo", False, None, ParamMode.MUTABLE_ON_START)),
        ("!foo<array<long>>", ParamKey("foo", True, ParamType.LONG_ARRAY, None)),
        ("foo<array< string >>", ParamKey("foo", False, ParamType.STRING_ARRAY, None)),
        ("foo<boolean_array>", ParamKey("foo", False, ParamType.BOOLEAN_ARRAY, None)),
        ("foo<map>", ParamKey("foo", False, ParamType.STRING_MAP, None)),
        ("foo<string_map>", ParamKey("foo", False, ParamType.STRING_MAP, None)),
        ("foo<pmap>", ParamKey("foo", False, ParamType.MAP, None)),
        (" ! foo <double> ( immutable ) ", ParamKey("foo", True, ParamType.DOUBLE, ParamMode.IMMUTABLE)),
    ],
)
def test_a_key_says_name_kind_type_and_mode(key: str, expected: ParamKey) -> None:
    assert parse_key(key) == expected
    written = write_key(expected.name, expected.is_expression, expected.type, expected.mode)
    assert parse_key(written) == expected


@pytest.mark.parametrize(
    ("entry", "type_", "value"),
    [
        ("p: 1", ParamType.LONG, 1),
        ("p: 1.5", ParamType.DOUBLE, 1.5),
        ("p: true", ParamType.BOOLEAN, True),
        ("p: text", ParamType.STRING, "text"),
        ("p: 2024-01-01", ParamType.STRING, "2024-01-01"),
        ("p: {a: x, b: y}", ParamType.STRING_MAP, {"a": "x", "b": "y"}),
        ("p: []", ParamType.STRING_ARRAY, []),
        ("p: [a, b]", ParamType.STRING_ARRAY, ["a", "b"]),
        ("p: [1, 2]", ParamType.LONG_ARRAY, [1, 2]),
        ("p: [1.5, 2]", ParamType.DOUBLE_ARRAY, [1.5, 2.0]),
        ("p: [true]", ParamType.BOOLEAN_ARRAY, [True]),
        ("p<array<long>>: []", ParamType.LONG_ARRAY, []),
        ("p<map>: {}", ParamType.STRING_MAP, {}),
    ],
)
def test_the_type_of_a_literal_is_that_of_its_value(entry: str, type_: ParamType, value: object) -> None:
    found = workflow(entry + "\n" + JOBS).workflow.params["p"]
    assert (found.type, found.value) == (type_, value)


@pytest.mark.parametrize(
    ("entry", "members"),
    [
        ("p: {}", {}),
        ("p: {a: 1, b: x}", {"a": (ParamType.LONG, 1), "b": (ParamType.STRING, "x")}),
        ("p<pmap>: {a: x}", {"a": (ParamType.STRING, "x")}),
    ],
)
def test_a_mixed_or_empty_map_holds_params(entry: str, members: dict[str, tuple[ParamType, object]]) -> None:
    found = workflow(entry + "\n" + JOBS).workflow.params["p"]
    assert found.type is ParamType.MAP
    assert {name: (member.type, member.value) for name, member in found.members.items()} == members


def test_members_of_a_map_have_keys_of_their_own() -> None:
    found = (
        workflow("p<pmap>: {'!n<long>(constant)': 1 + 1, s: x}\n" + JOBS).workflow.params["p"].members["n"]
    )
    assert (found.expression, found.type, found.mode) == ("1 + 1", ParamType.LONG, ParamMode.CONSTANT)


@pytest.mark.parametrize(
    ("entry", "type_", "expression"),
    [
        ("'!p': x + 1", ParamType.STRING, "x + 1"),
        ("'!p<long>': 5", ParamType.LONG, "5"),
        ("'!p<boolean>': true", ParamType.BOOLEAN, "true"),
    ],
)
def test_an_expression_is_a_string_unless_it_says_otherwise(
    entry: str, type_: ParamType, expression: str
) -> None:
    found = workflow(entry + "\n" + JOBS).workflow.params["p"]
    assert (found.type, found.expression) == (type_, expression)


@pytest.mark.parametrize(
    ("entry", "code", "column"),
    [
        ("p<long>: text", "PARAM_TYPE", 12),
        ("p<double>: 1", "PARAM_TYPE", 14),
        ("p<array<long>>: [a]", "PARAM_TYPE", 19),
        ("p<map>: {a: 1}", "PARAM_TYPE", 11),
        ("p<long>: {}", "PARAM_TYPE", 12),
        ("p: ~", "PARAM_TYPE", 6),
        ("p: [{a: 1}]", "PARAM_TYPE", 6),
        ("p: [1, x]", "PARAM_TYPE", 6),
        ("p: {a: {b: ~}, c: 1}", "PARAM_TYPE", 14),
        ("p: 99999999999999999999", "PARAM_TYPE", 6),
        ("p: .inf", "PARAM_TYPE", 6),
        ("'!p': [1]", "PARAM_TYPE", 9),
        ("p<lnog>: 1", "PARAM_TYPE_UNKNOWN", 3),
        ("p(constent): 1", "PARAM_MODE_UNKNOWN", 3),
        ("<long>: 1", "PARAM_KEY", 3),
        ("'a b': 1", "PARAM_NAME", 3),
        ("a__b: 1", "PARAM_NAME", 3),
        ("maestro_x: 1", "PARAM_NAME", 3),
        ("params: 1", "PARAM_NAME", 3),
        ("Util: 1", "PARAM_NAME", 3),
        ("workflow_id: x", "PARAM_NAME", 3),
    ],
)
def test_a_param_that_does_not_fit_is_refused_at_its_place(entry: str, code: str, column: int) -> None:
    problems = refused(f"Workflow:\n  id: flow\n  {entry}\n  {JOBS}")
    assert [(problem.code, problem.at.line, problem.at.column) for problem in problems] == [(code, 3, column)]


def test_types_and_modes_are_guessed() -> None:
    types = refused(f"Workflow:\n  id: f\n  p<lnog>: 1\n  q(constent): 1\n  {JOBS}")
    assert [problem.suggestion for problem in types] == ["long", "constant"]


def test_the_same_param_under_two_keys_is_refused() -> None:
    (problem,) = refused(f"Workflow:\n  id: f\n  p: 1\n  '!p': x\n  {JOBS}")
    assert (problem.code, problem.at.line) == ("KEY_DUPLICATE", 4)


def test_too_many_params_are_refused() -> None:
    many = "".join(f"  p{n}: {n}\n" for n in range(129))
    (problem,) = refused(f"Workflow:\n  id: f\n{many}  {JOBS}")
    assert (problem.code, problem.found) == ("PARAM_LIMIT", "129")
