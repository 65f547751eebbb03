"""Rewrites within a range are taken back, so that a consumer sees only what really changed."""

from __future__ import annotations

from collections import Counter

import pytest

from support.lake_table import MERGE_ON_READ, LakeTable

from .conftest import MakeTable


def of_three_files(make_table: MakeTable, version: int) -> LakeTable:
    table = make_table(format_version=version)
    for number in range(3):
        table.insert(f"({number}, 'old')")
    return table


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_were_only_rewritten_are_not_shown(make_table: MakeTable, version: int) -> None:
    table = of_three_files(make_table, version)
    start = table.head
    table.insert("(10, 'new')")
    table.compact()
    changes = table.check_net(start)
    assert table.after(changes) == Counter({(10, "new"): 1})
    assert changes.removed_table is None
    assert changes.operations == {"append": 1, "replace": 1}


@pytest.mark.parametrize("version", [2, 3])
def test_a_rewrite_of_a_rewrite_is_taken_back_too(make_table: MakeTable, version: int) -> None:
    table = of_three_files(make_table, version)
    start = table.head
    table.insert("(10, 'new')")
    table.compact()
    table.insert("(11, 'new')")
    table.compact()
    changes = table.check_net(start)
    assert table.after(changes) == Counter({(10, "new"): 1, (11, "new"): 1})
    assert changes.removed_table is None


@pytest.mark.parametrize("version", [1, 2, 3])
def test_rows_that_changed_after_a_rewrite_are_shown(make_table: MakeTable, version: int) -> None:
    table = of_three_files(make_table, version)
    start = table.head
    table.insert("(10, 'new')")
    table.compact()
    table.sql(f"UPDATE {table} SET name = 'changed' WHERE id = 1")
    table.compact()
    came, went = table.difference(table.check_net(start))
    assert came == Counter({(10, "new"): 1, (1, "changed"): 1})
    assert went == Counter({(1, "old"): 1})


def test_a_rewrite_that_applied_deletes_is_compared_by_rows(make_table: MakeTable) -> None:
    table = of_three_files(make_table, 2)
    table.set(**MERGE_ON_READ)
    table.insert("(20, 'x'), (21, 'x')")
    start = table.head
    table.sql(f"DELETE FROM {table} WHERE id = 20")
    table.insert("(10, 'new')")
    table.compact()
    came, went = table.difference(table.check_net(start))
    assert (came, went) == (Counter({(10, "new"): 1}), Counter({(20, "x"): 1}))
