"""Random texts and random programs: the answer is a plain value or a SelError, and it comes soon."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calve.workflow.sel import Limits, SelError, evaluate, referenced_names

pytestmark = pytest.mark.slow

LIMITS = Limits(seconds=2, visits=5_000, memory=500_000, loop=200, array=200)
PARAMS = {"n": 5, "d": 2.5, "b": True, "s": "text", "xs": [1, 2, 3], "m": {"k": "v"}}
WORDS = """
    ( ) { } [ ] ; , . ? : = == != < > <= >= + - * / % ! && || += -= new int String double boolean Map DateTime
    if else for while return break continue throw true false null import params n d b s xs m x y 0 1 2.5 'a'
    "b" length get put size substring toString split format Util Math Long intsBetween replaceAll
    '(' '%s' '%5d' 'a{2}' 25001 9223372036854775807 -1 // /* */ \\ ' " $ @ # é \\u0041
"""
TOKENS = st.sampled_from(WORDS.split())
NAMES = st.sampled_from(["n", "d", "b", "s", "xs", "m", "x", "y"])
LITERALS = st.sampled_from(["0", "1", "-7", "2.5", "1e300", "'a'", "'b,c'", "''", "true", "false", "null"])
BINARY = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&&", "||"])
METHODS = st.sampled_from(
    ["length", "size", "get", "put", "substring", "split", "replaceAll", "toString", "plusDays", "intValue"]
)


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, BINARY, inner).map(" ".join),
        inner.map(lambda x: f"({x})"),
        st.tuples(st.sampled_from("-+!"), inner).map(lambda x: f"{x[0]}({x[1]})"),
        st.tuples(inner, inner, inner).map(lambda x: f"({x[0]}) ? {x[1]} : {x[2]}"),
        st.tuples(NAMES, inner).map(lambda x: f"{x[0]}[{x[1]}]"),
        st.tuples(NAMES, st.sampled_from(["=", "+=", "*="]), inner).map(" ".join),
        st.tuples(NAMES, METHODS, st.lists(inner, max_size=2)).map(
            lambda x: f"{x[0]}.{x[1]}({', '.join(x[2])})"
        ),
        st.lists(inner, max_size=3).map(lambda x: f"new int[]{{{', '.join(x)}}}"),
        st.tuples(inner, inner).map(lambda x: f"Util.intsBetween({x[0]}, {x[1]}, 1)"),
        inner.map(lambda x: f"String.format('%s|%5d', {x}, n)"),
        inner.map(lambda x: f"new DateTime({x}).plusMonths(n).toString('yyyyMMdd')"),
    )


EXPRESSIONS = st.recursive(NAMES | LITERALS, _expressions, max_leaves=8)


def _statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, max_size=3).map(lambda x: "{" + " ".join(x) + "}"),
        st.tuples(EXPRESSIONS, inner, inner).map(lambda x: f"if ({x[0]}) {x[1]} else {x[2]}"),
        st.tuples(EXPRESSIONS, inner).map(lambda x: f"while ({x[0]}) {x[1]}"),
        st.tuples(st.integers(0, 300), inner).map(lambda x: f"for (int i = 0; i < {x[0]}; i += 1) {x[1]}"),
    )


SIMPLE = st.one_of(
    EXPRESSIONS.map(lambda x: f"{x};"),
    EXPRESSIONS.map(lambda x: f"return {x};"),
    st.tuples(st.sampled_from(["int", "String", "Map", "int[]"]), NAMES, EXPRESSIONS).map(
        lambda x: f"{x[0]} {x[1]} = {x[2]};"
    ),
    st.sampled_from(["break;", "continue;", "throw s;"]),
)
PROGRAMS = st.lists(st.recursive(SIMPLE, _statements, max_leaves=4), min_size=1, max_size=4).map(" ".join)


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(item is None or type(item) in (str, int, float, bool) for item in value)
    return value is None or type(value) in (str, int, float, bool)


def _check(text: str) -> None:
    before = time.monotonic()
    with contextlib.suppress(SelError):
        referenced_names(text, LIMITS)
        assert _is_plain(evaluate(text, PARAMS, limits=LIMITS).value)
    assert time.monotonic() - before < LIMITS.seconds + 10


@settings(max_examples=250, deadline=None)
@given(st.lists(TOKENS, max_size=25).map(" ".join))
def test_a_soup_of_tokens(text: str) -> None:
    _check(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    _check(text)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PROGRAMS)
def test_a_well_formed_program(text: str) -> None:
    _check(text)
