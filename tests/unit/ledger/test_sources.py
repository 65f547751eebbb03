"""Several tables in one capture, each with a branch, range columns and an alias of its own."""

from __future__ import annotations

import pytest
from pyiceberg.table import Table

from calve.errors import NotFoundError, UsageError
from calve.ledger.asks import SourceAsk
from calve.ledger.ledger import Ledger
from support.ledgers import added, append, code_of, make_table

pytestmark = pytest.mark.slow


def test_each_table_has_its_own_branch_and_range_columns(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    table.refresh().manage_snapshots().create_branch(first, "audit").commit()
    append(table.refresh(), 2)
    append(make_table(ledger, "db.u"), 7)
    capture = ledger.capture(
        SourceAsk("db.t", branch="audit", range_columns=("value",)),
        "db.u",
        consumer="c",
        range_columns=["id"],
    )
    assert [added(changes) for changes in capture.sources] == [[1], [7]]
    assert [changes.branch for changes in capture.sources] == ["audit", "main"]
    assert [set(changes.ranges) for changes in capture.sources] == [{"value"}, {"id"}]
    capture.commit()
    assert {x.position.branch for x in ledger.checkpoints()} == {"audit", "main"}
    assert not any(x.has_changes for x in ledger.capture("db.u", consumer="c").sources)


def test_one_table_can_be_captured_from_two_branches(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    table.refresh().manage_snapshots().create_branch(first, "audit").commit()
    append(table.refresh(), 2)
    asks = [SourceAsk("db.t"), SourceAsk("db.t", branch="audit", alias="audited")]
    capture = ledger.capture(*asks, consumer="c")
    assert added(capture.source("t")) == [1, 2]
    assert added(capture.source("audited")) == [1]
    assert ledger.capture(*asks, consumer="c").id == capture.id


def test_a_table_is_found_by_its_alias(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    append(make_table(ledger, "db.u"), 2)
    capture = ledger.capture("lake.db.t", SourceAsk("db.u", alias="other"), consumer="c")
    assert capture.aliases == ("t", "other")
    assert added(capture.source("other")) == [2]
    assert [source["alias"] for source in capture.to_json()["sources"]] == ["t", "other"]
    with pytest.raises(NotFoundError) as error:
        capture.source("u")
    assert code_of(error) == "ALIAS_NOT_FOUND"
    assert ledger.get(capture.id).aliases == ("t", "other")


def test_aliases_follow_what_is_asked_for_now(ledger: Ledger, table: Table) -> None:
    append(table, 1)
    first = ledger.capture(SourceAsk("db.t", alias="old"), consumer="c")
    again = ledger.capture(SourceAsk("db.t", alias="new"), consumer="c")
    assert again.id == first.id
    assert again.aliases == ("new",)
    assert added(again.changes) == [1]


def test_two_tables_cannot_have_one_alias(ledger: Ledger, table: Table) -> None:
    make_table(ledger, "other.t")
    with pytest.raises(UsageError) as error:
        ledger.capture("db.t", "other.t", consumer="c")
    assert code_of(error) == "ALIAS_TAKEN"
    assert "other.t" in error.value.message
    with pytest.raises(UsageError) as error:
        ledger.capture("db.t", "db.t", consumer="c")
    assert code_of(error) == "TABLE_NAMED_TWICE"
    assert not ledger.checkpoints()


def test_a_capture_of_nothing_asked_for_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UsageError) as error:
        ledger.capture(consumer="c")
    assert code_of(error) == "TABLE_MISSING"
