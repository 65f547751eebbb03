"""Scripts whose tables are exchanged."""

from __future__ import annotations

import pytest

from calve.errors import UsageError
from calve.steps.script_tables import with_tables

TABLES = {"db.changed": "calve_rows_1"}


def test_a_table_is_exchanged_wherever_it_stands_and_the_rest_stays() -> None:
    script = "INSERT INTO t SELECT * FROM lake.db.changed; -- as it is\nSELECT 'db.changed' FROM db.changed c"
    found = with_tables(script, {"lake.db.changed": "calve_rows_1"})
    assert (
        found
        == "INSERT INTO t SELECT * FROM calve_rows_1 AS `changed`;\nSELECT 'db.changed' FROM calve_rows_1 c"
    )


@pytest.mark.parametrize(
    "script", ["SELECT 1 ;", "not SQL at all", "SELECT 'db.changed'", "SELECT * FROM changed2"]
)
def test_what_does_not_name_it_means_the_same(script: str) -> None:
    assert with_tables(script, TABLES).rstrip("; ") == script.rstrip("; ")
    assert with_tables(script, {}) == script


def test_a_statement_that_names_it_and_cannot_be_read_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        with_tables("SELECT FROM WHERE db.changed (", TABLES)
    assert error.value.code == "QUERY_INVALID"
