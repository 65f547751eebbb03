"""Scripts are cut into statements where Spark's parser would cut them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.spark.statements import Statement, split_statements


def texts(script: str) -> list[str]:
    return [statement.text for statement in split_statements(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;", ["SELECT 1"]),
        ("SELECT 1; SELECT 2 ;\n", ["SELECT 1", "SELECT 2"]),
        ("", []),
        (";;  ;", []),
        ("-- nothing\n/* here */", []),
        ("SELECT 'a;b'; SELECT 2", ["SELECT 'a;b'", "SELECT 2"]),
        ('SELECT "a;b"; SELECT 2', ['SELECT "a;b"', "SELECT 2"]),
        ("SELECT `a;b` FROM t; SELECT 2", ["SELECT `a;b` FROM t", "SELECT 2"]),
        (r"SELECT 'it\'s;'; SELECT 2", [r"SELECT 'it\'s;'", "SELECT 2"]),
        ("SELECT 'it''s;'; SELECT 2", ["SELECT 'it''s;'", "SELECT 2"]),
        (r"SELECT r'a\'; SELECT 2", [r"SELECT r'a\'", "SELECT 2"]),
        ("SELECT 1 -- one; two\n; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT /* ; /* ; */ ; */ 1; SELECT 2", ["SELECT /* ; /* ; */ ; */ 1", "SELECT 2"]),
        ("-- first\nSELECT 1;\n-- last\n", ["SELECT 1"]),
        ("SELECT 1 - -1; SELECT 2", ["SELECT 1 - -1", "SELECT 2"]),
        ("SELECT $$a;b$$; SELECT 2", ["SELECT $$a;b$$", "SELECT 2"]),
        ("SELECT $x$a;$$;b$x$; SELECT 2", ["SELECT $x$a;$$;b$x$", "SELECT 2"]),
        ("SELECT begin; SELECT end FROM t", ["SELECT begin", "SELECT end FROM t"]),
        ("SELECT CASE WHEN a THEN 1 END; SELECT 2", ["SELECT CASE WHEN a THEN 1 END", "SELECT 2"]),
        ("SELECT 'never closed; SELECT 2", ["SELECT 'never closed; SELECT 2"]),
        ("SELECT 1 /* never closed; SELECT 2", ["SELECT 1"]),
    ],
)
def test_a_semicolon_ends_a_statement_only_where_it_is_code(script: str, expected: list[str]) -> None:
    assert texts(script) == expected


@pytest.mark.parametrize(
    "compound",
    [
        "BEGIN SELECT 1; SELECT 2; END",
        "begin declare x int; set x = 1; select x; end",
        "outer: BEGIN SELECT 1; END outer",
        "BEGIN BEGIN SELECT 1; END; SELECT 2; END",
        "BEGIN IF a THEN SELECT 1; END IF; SELECT 2; END",
        "BEGIN WHILE a DO SELECT 1; END WHILE; REPEAT SELECT 1; UNTIL a END REPEAT; SELECT 2; END",
        "BEGIN LOOP SELECT 1; END LOOP; FOR r AS SELECT 1 DO SELECT r; END FOR; END",
        "BEGIN CASE a WHEN 1 THEN SELECT 1; END CASE; SELECT 2; END",
        "BEGIN SELECT CASE WHEN a THEN 1 END; SELECT 2; END",
        "BEGIN SELECT CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END AS x; SELECT 'END;'; /* END; */ END",
    ],
)
def test_a_compound_statement_stays_whole(compound: str) -> None:
    assert texts(f"SELECT 0; {compound}; SELECT 9") == ["SELECT 0", compound, "SELECT 9"]
    assert texts(compound) == [compound]


def test_a_statement_knows_its_line() -> None:
    assert split_statements("-- a\nSELECT 1;\n\n\nSELECT\n2") == [
        Statement("SELECT 1", 2),
        Statement("SELECT\n2", 5),
    ]


def test_a_statement_is_shown_on_one_short_line() -> None:
    statement = Statement("SELECT a,\n       b FROM t", 1)
    assert statement.shorten() == "SELECT a, b FROM t"
    assert statement.shorten(10) == "SELECT a,…"


_PIECES = st.sampled_from(
    [
        "SELECT 1",
        "x = 'a;b'",
        'y = "c;\\"d"',
        "`q;r`",
        "/* ; */ z",
        "w -- ;\n+ 1",
        "r'\\' AS k",
        "a - b",
        "$$;$$",
    ]
)


@given(st.lists(st.lists(_PIECES, min_size=1, max_size=4), max_size=5))
def test_whatever_is_joined_by_semicolons_comes_apart_again(statements: list[list[str]]) -> None:
    written = [" ".join(pieces) for pieces in statements]
    assert texts(";\n".join(written)) == [text.removeprefix("/* ; */ ") for text in written]


@given(st.text(alphabet="ab;'\"`-/*\\$\n rBEGINDCAS", max_size=80))
def test_any_text_is_split_without_losing_code(script: str) -> None:
    position = 0
    for statement in split_statements(script):
        position = script.index(statement.text, position) + len(statement.text)
    assert position <= len(script)
