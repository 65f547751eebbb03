from __future__ import annotations

from typing import Any

import pytest

from calve.workflow.sel import Limits, SelError, evaluate, referenced_names


def run(text: str, **params: Any) -> Any:
    return evaluate(text, params).value


def code(text: str, limits: Limits | None = None, **params: Any) -> str:
    with pytest.raises(SelError) as caught:
        evaluate(text, params, limits=limits or Limits())
    return caught.value.code


@pytest.mark.parametrize(
    ("text", "type_name", "value"),
    [
        ("'a'", "STRING", "a"),
        ("1 + 1", "LONG", 2),
        ("1.5", "DOUBLE", 1.5),
        ("1 < 2", "BOOLEAN", True),
        ("new String[]{'a'};", "STRING_ARRAY", ["a"]),
        ("new int[]{1, 2};", "LONG_ARRAY", [1, 2]),
        ("new double[]{1.0};", "DOUBLE_ARRAY", [1.0]),
        ("new boolean[1]", "BOOLEAN_ARRAY", [False]),
        ("m = new Map(); m.put('k', new Map()); m", "MAP", {"k": {}}),
    ],
)
def test_every_type_of_result_has_its_name(text: str, type_name: str, value: object) -> None:
    result = evaluate(text)
    assert (result.type, result.value) == (type_name, value)


@pytest.mark.parametrize(
    "text", ["null", "int x = 1;", "new DateTime(0)", "", "if (true) 5;", "DateTimeZone.UTC"]
)
def test_a_result_that_no_param_can_have_is_an_error(text: str) -> None:
    assert code(text) == "SEL_TYPE"


def test_the_last_statement_is_the_result_and_return_ends_early() -> None:
    assert run("x = 1; x + 1") == 2
    assert run("return 1; 2;") == 1


def test_the_last_semicolon_may_be_missing_and_a_block_needs_none() -> None:
    assert run("1") == run("1;") == run("{ 1; }") == 1
    assert code("x = 5;;") == "SEL_SYNTAX"
    assert code("new int[]{1}") == "SEL_SYNTAX"


def test_imports_and_comments_are_ignored() -> None:
    assert run("import java.util.*; import static a.b.C; /* c */ 1 // d\n + 1") == 2


def test_and_and_or_evaluate_both_sides() -> None:
    assert code("false && 1 / 0 > 0") == "SEL_VALUE"
    assert code("true || 1 / 0 > 0") == "SEL_VALUE"


def test_unknown_names_are_null() -> None:
    assert run("z > 0") is False
    assert run("z == null") is True


def test_variables_share_a_box_with_maps_and_declarations() -> None:
    assert run("m = new Map(); y = 1; m.put('k', y); y = 2; m.get('k')") == 2
    assert run("int x = 1; int y = x; x = 2; y") == 2
    assert run("x = 1; y = x; x = 2; y") == 1


def test_a_literal_is_one_box_so_a_declaration_in_a_loop_does_not_reset() -> None:
    assert run("for (i = 0; i < 3; i += 1) { int s = 0; s += 1; } s") == 3
    assert run("for (i = 0; i < 3; i += 1) { s = 0; s += 1; } s") == 1


def test_evaluations_do_not_see_each_other() -> None:
    assert run("Long = 5; int x = 1; x += 1; x") == 2
    assert run("Long = 5; int x = 1; x += 1; x") == 2
    assert run("Long + 0") == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int x = 'a'", "SEL_TYPE"),
        ("double d = 1.0; d += 1", "SEL_TYPE"),
        ("'a' < 'b'", "SEL_TYPE"),
        ("true + 'a'", "SEL_TYPE"),
        ("m['k']", "SEL_TYPE"),
        ("0x1F", "SEL_SYNTAX"),
        ("i++", "SEL_SYNTAX"),
        ("1 & 1", "SEL_SYNTAX"),
        ("(int) 1", "SEL_SYNTAX"),
        ("int[][] x", "SEL_SYNTAX"),
        ("class", "SEL_SYNTAX"),
        ("'a", "SEL_SYNTAX"),
        ("'\\q'", "SEL_SYNTAX"),
        ("java.util.UUID.randomUUID()", "SEL_UNKNOWN_NAME"),
        ("new File('x')", "SEL_UNKNOWN_NAME"),
        ("'a'.foo()", "SEL_UNKNOWN_NAME"),
        ("'a'.substring(5)", "SEL_VALUE"),
        ("1 / 0", "SEL_VALUE"),
        ("throw 'stop'", "SEL_THROWN"),
        ("params.getFromStep('a', 'b')", "SEL_UNKNOWN_NAME"),
    ],
)
def test_mistakes_have_codes(text: str, expected: str) -> None:
    assert code(text, m={"k": "v"}) == expected


def test_an_error_says_where_it_is_and_what_to_do() -> None:
    with pytest.raises(SelError) as caught:
        evaluate("x = 1;\n  x.toStrin()")
    error = caught.value
    assert (error.line, error.column) == (2, 5)
    assert "did you mean toString?" in error.message
    assert error.remedy


def test_params_are_read_by_name_by_get_and_by_brackets() -> None:
    assert run("n + params.get('n') + params['n'] + params.n", n=1) == 4
    assert run("params.containsKey('n') && !params.containsKey('q')", n=1) is True


def test_a_param_that_is_assigned_keeps_its_value_outside() -> None:
    assert run("n = 5; params.get('n')", n=1) == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a + b.length()", {"a", "b"}),
        ("x = x + 1", set()),
        ("x + 1; x = 2", {"x"}),
        ("int y = z; y", {"z"}),
        ("String.valueOf(a) + Util.toJson(b)", {"a", "b"}),
        ("params.get('k')", {"params"}),
        ("for (i = n; i > m; i -= 1) { q[i] = 1; }", {"n", "m"}),
        ("a ? b : c", {"a", "b", "c"}),
    ],
)
def test_referenced_names_are_those_read_before_they_are_assigned(text: str, names: set[str]) -> None:
    assert referenced_names(text) == names
