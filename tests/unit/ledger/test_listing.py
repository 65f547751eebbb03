"""Captures in short, the newest first."""

from __future__ import annotations

import pytest
from pyiceberg.table import Table

from calve.ledger.ledger import Ledger
from calve.ledger.listing import newest_captures
from calve.ledger.rows import read_positions
from calve.state.schema import chains
from support.ledgers import append, make_table


@pytest.mark.slow
def test_the_newest_captures_of_each_position_come_first_and_older_ones_by_cursor(
    ledger: Ledger, table: Table
) -> None:
    taken = []
    for number in range(4):
        append(table, number)
        for consumer in ("a", "b"):
            capture = ledger.capture("db.t", consumer=consumer)
            taken.append((capture.commit() if number < 3 else capture.record) and capture.id)
    append(make_table(ledger, "db.other"), 1)
    ledger.capture("db.other", consumer="c")
    with ledger.database.read() as connection:
        positions = read_positions(connection, chains.c.table_name == "lake.db.t")
        newest = newest_captures(connection, positions, 2)
        last = newest[-1]
        older = newest_captures(connection, positions, 9, (last.created_at, last.id))
        assert newest_captures(connection, [], 9) == []
    assert {head.id for head in newest} == set(taken[4:])
    assert {head.id for head in newest} | {head.id for head in older} >= set(taken)
    assert {head.status for head in newest} == {"open", "committed"}
    assert all((head.ended_at is None) == (head.status == "open") for head in newest)
    mine = {position.id for position in positions}
    assert all(len(head.segments) == 1 and set(head.segments) <= mine for head in newest)
