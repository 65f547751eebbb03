from __future__ import annotations

import contextlib

import pytest

from calve.workflow.sel import Limits, SelError, evaluate

pytestmark = pytest.mark.slow

#: A map that holds the map before twice: small, and very large when it is written out.
DOUBLED = "Map q = new Map(); q.put('a', m); q.put('b', m); Map m = q;"


def stops(text: str, limits: Limits | None = None) -> str:
    with pytest.raises(SelError) as caught:
        evaluate(text, {"n": 3}, limits=limits or Limits())
    assert caught.value.code == "SEL_LIMIT", caught.value.message
    return caught.value.message


def test_a_loop_stops_at_its_limit() -> None:
    assert "25001 turns" in stops("while (true) 1;")
    assert evaluate("x = 0; for (i = 0; i < 25000; i += 1) x += 1; x").value == 25_000


def test_a_new_array_stops_at_its_limit_and_an_array_of_util_does_not() -> None:
    stops("new int[25001]")
    assert evaluate("new int[25000].length").value == 25_000
    assert evaluate("Util.intsBetween(0, 30000, 1).length").value == 30_000


def test_an_expression_may_have_9999_characters() -> None:
    assert evaluate("1" + " " * 9_998).value == 1
    assert "10000 characters" in stops("1" + " " * 9_999)


def test_values_that_wait_are_limited() -> None:
    stops("new int[]{" + ",".join("1" * 128) + "};")
    stops("1+(" * 127 + "1+1" + ")" * 127)
    assert evaluate("+".join("1" * 4_000)).value == 4_000


def test_nesting_is_limited_and_chains_are_not_nesting() -> None:
    stops("!" * 300 + "true")
    stops("{" * 300 + "1;" + "}" * 300)
    assert evaluate("(" * 4_000 + "1" + ")" * 4_000).value == 1
    assert evaluate("false ? 1 : " * 500 + "2").value == 2
    assert evaluate("if (false) {} else " * 400 + "x = 2; x").value == 2


def test_steps_are_limited() -> None:
    assert "1000 steps" in stops("for (i = 0; i < 900; i += 1) i;", Limits(visits=1_000))


def test_time_is_limited() -> None:
    slow = "for (i=0;i<20000;i+=1) for (j=0;j<20000;j+=1) { k = i; }"
    assert "0.05 s" in stops(slow, Limits(seconds=0.05))


@pytest.mark.parametrize(
    "text",
    [
        "x = 'ab'; for (i = 0; i < 60; i += 1) x = x + x;",
        "x = 'ab'; for (i = 0; i < 60; i += 1) x += x;",
        "x = 'aaaaaaaaaa'; for (i = 0; i < 20; i += 1) x = x.replace('a', x);",
        "x = 'aaaaaaaaaa'; for (i = 0; i < 20; i += 1) x = x.replaceAll('a', x);",
        "x = 'ab'; for (i = 0; i < 60; i += 1) x = String.join(x, x, x);",
        "x = 'ab'; for (i = 0; i < 60; i += 1) x = String.format('%s%s', x, x);",
        "x = '\"\"'; for (i = 0; i < 60; i += 1) x = x.escape();",
        "for (i = 0; i < 2000; i += 1) String.format('%900000d', 1);",
        f"Map m = new Map(); for (i = 0; i < 60; i += 1) {{ {DOUBLED} }} 'x' + m",
        f"Map m = new Map(); for (i = 0; i < 60; i += 1) {{ {DOUBLED} }} m",
        "Util.intsBetween(-2000000000, 2000000000, 1)",
    ],
)
def test_memory_is_limited_before_it_is_taken(text: str) -> None:
    stops(text, Limits(memory=1_000_000))


def test_a_map_that_holds_itself_is_refused() -> None:
    stops("m = new Map(); m.put('m', m); m")
    stops("m = new Map(); m.put('m', m); 'x' + m")
    stops("m = new Map(); m.put('m', m); Util.toJson(m)")


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*$", "(a*)*b", "a*a*a*a*a*b", "(?:a?){30}a{30}b", "(.*)*x", "((a{1,5}){1,5}){1,5}b"],
)
def test_a_regular_expression_that_explodes_stops(pattern: str) -> None:
    text = "a" * 60 + "!"
    for expression in (f"'{text}'.replaceAll('{pattern}', '')", f"'{text}'.split('{pattern}').length"):
        with contextlib.suppress(SelError):
            evaluate(expression, limits=Limits(visits=100_000))


def test_a_pattern_that_grows_is_refused() -> None:
    with pytest.raises(SelError) as caught:
        evaluate("'a'.split('((((a{99}){99}){99}){99})')")
    assert caught.value.code == "SEL_VALUE"
