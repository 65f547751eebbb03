"""The user's query: the source exchanged at its place, the rest as it was written."""

from __future__ import annotations

import pytest

from calve.errors import UsageError
from calve.steps.patterns.rendering.branching import on_branch
from calve.steps.patterns.rendering.query import Query, check_expression, split_equation

SOURCE = ("lake.db.events", "ev")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a FROM lake.db.events", "SELECT a FROM X AS `events`"),
        ("SELECT events.a FROM db.events", "SELECT events.a FROM X AS `events`"),
        ("SELECT e.a\n  FROM  Lake.DB.`events`   e -- events\n", "SELECT e.a\n  FROM  X   e -- events"),
        ("SELECT a FROM ev JOIN dim ON 1 = 1", "SELECT a FROM X AS `ev` JOIN dim ON 1 = 1"),
        ("SELECT 'FROM events' FROM events AS z;", "SELECT 'FROM events' FROM X AS z"),
        (
            "WITH e AS (SELECT * FROM events) SELECT * FROM e",
            "WITH e AS (SELECT * FROM X AS `events`) SELECT * FROM e",
        ),
        ("SELECT a FROM :source s, events", "SELECT a FROM X s, events"),
        ("SELECT a FROM :change WHERE b = ':source'", "SELECT a FROM X WHERE b = ':source'"),
        ("SELECT a FROM events TABLESAMPLE (5 ROWS)", "SELECT a FROM X AS `events` TABLESAMPLE (5 ROWS)"),
    ],
)
def test_the_source_is_exchanged_and_nothing_else(query: str, expected: str) -> None:
    assert Query(query, SOURCE).reading("X") == expected


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT a FROM other", "SOURCE_NOT_READ"),
        ("SELECT a FROM other.db.events", "SOURCE_NOT_READ"),
        ("WITH events AS (SELECT 1) SELECT * FROM events", "SOURCE_NOT_READ"),
        ("SELECT a FROM events VERSION AS OF 1", "SOURCE_NOT_READ"),
        ("SELECT a FROM events JOIN events e2 ON 1 = 1", "SOURCE_READ_TWICE"),
        ("SELEC a FRM events", "QUERY_INVALID"),
        ("SELECT 1; SELECT 2", "QUERY_INVALID"),
        ("DELETE FROM events", "QUERY_INVALID"),
        ("  ; ", "QUERY_INVALID"),
    ],
)
def test_a_query_that_cannot_take_the_change_is_refused_by_name(query: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        Query(query, SOURCE).reading("X")
    assert caught.value.code == code
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("query", "passes"),
    [
        ("SELECT day FROM events", True),
        ("SELECT * FROM events", True),
        ("SELECT e.day AS Day FROM events e", True),
        ("SELECT e.day FROM events e LEFT JOIN dim d ON 1 = 1", True),
        ("SELECT day FROM :source", True),
        ("SELECT day FROM events e LEFT JOIN dim d ON 1 = 1", False),
        ("SELECT d.day FROM events e LEFT JOIN dim d ON 1 = 1", False),
        ("SELECT e.day FROM dim d LEFT JOIN events e ON 1 = 1", False),
        ("SELECT e.day FROM events e FULL JOIN dim d ON 1 = 1", False),
        ("SELECT day + 1 AS day FROM events", False),
        ("SELECT other AS day FROM events", False),
        ("SELECT day FROM (SELECT day + 1 AS day FROM events)", False),
        ("SELECT day FROM events LATERAL VIEW explode(x) e AS y", False),
        ("SELECT day FROM events UNION ALL SELECT day FROM dim", False),
    ],
)
def test_a_column_passes_only_where_it_is_surely_the_sources(query: str, passes: bool) -> None:
    assert Query(query, SOURCE).passes("day") is passes


def test_the_columns_of_a_result_are_known_unless_there_is_a_star() -> None:
    assert Query("SELECT a, b + 1 AS c, s.d FROM s").outputs == ("a", "c", "d")
    assert Query("SELECT *, b FROM s").outputs is None
    assert Query("SELECT count(*) FROM s").outputs is None


@pytest.mark.parametrize(
    "text", ["1) OR (1 = 1", "1; DROP TABLE x", "a -- b", "a /* b */", "a, b", "", "*", "a AS b"]
)
def test_an_expression_cannot_become_more_than_one(text: str) -> None:
    with pytest.raises(UsageError):
        check_expression(text, "it")


@pytest.mark.parametrize(
    "text", ["s.n > t.n", "coalesce(a, ')') = 'x'", "(SELECT max(x) FROM y)", "a IN (1, 2)"]
)
def test_expressions_are_taken_as_they_are(text: str) -> None:
    check_expression(text, "it")


def test_an_equation_has_a_column_and_a_literal() -> None:
    assert split_equation("utc_date = 20240115") == ("utc_date", "20240115")
    assert split_equation("day = DATE '2024-01-01'") == ("day", "DATE '2024-01-01'")
    assert split_equation("day > 3") is None
    assert split_equation("day") is None


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO lake.db.t SELECT * FROM x", "INSERT INTO B SELECT * FROM x"),
        ("INSERT INTO db.t (a) SELECT a FROM x", "INSERT INTO B (a) SELECT a FROM x"),
        (
            "MERGE INTO t USING x ON t.a = x.a WHEN MATCHED THEN DELETE",
            "MERGE INTO B AS `t` USING x ON t.a = x.a WHEN MATCHED THEN DELETE",
        ),
        (
            "SELECT count(*) = 0 FROM t WHERE t.a IS NULL",
            "SELECT count(*) = 0 FROM B AS `t` WHERE t.a IS NULL",
        ),
        ("DELETE FROM t AS z WHERE z.a = 1", "DELETE FROM B AS z WHERE z.a = 1"),
    ],
)
def test_sql_on_a_table_is_turned_to_its_branch(sql: str, expected: str) -> None:
    assert on_branch(sql, ["lake.db.t"], "B", "it") == expected


def test_sql_that_does_not_name_the_target_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        on_branch("SELECT 1 FROM other", ["lake.db.t"], "B", "the audit x")
    assert caught.value.code == "TARGET_NOT_NAMED"
