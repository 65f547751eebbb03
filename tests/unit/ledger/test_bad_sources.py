"""Tables, branches and columns that are not what was asked for: named, with a remedy, and nothing moves."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from calve.errors import NotFoundError, RefusedError, UsageError
from calve.ledger.ledger import Ledger
from support.ledgers import SCHEMA, added, append, code_of, make_table

pytestmark = pytest.mark.slow


@pytest.fixture
def frontier(ledger: Ledger, table: Table) -> int:
    """`db.t` with a committed snapshot and one that waits; the committed one."""
    first = append(table, 1)
    ledger.capture("db.t", consumer="c").commit()
    append(table, 2)
    return first


def assert_unmoved(ledger: Ledger, frontier: int) -> None:
    (checkpoint,) = ledger.checkpoints(consumer="c")
    assert checkpoint.position.chain.frontier == frontier
    assert not checkpoint.open_captures


def test_a_table_that_is_not_there(ledger: Ledger, frontier: int) -> None:
    with pytest.raises(NotFoundError) as error:
        ledger.capture("db.t", "db.absent", consumer="c")
    assert code_of(error) == "TABLE_NOT_FOUND"
    assert "lake.db.absent" in error.value.message
    assert_unmoved(ledger, frontier)


def test_a_renamed_table_is_named_by_what_its_catalog_knows(ledger: Ledger, frontier: int) -> None:
    ledger.lake.catalog("lake").rename_table("db.t", "db.moved")
    with pytest.raises(NotFoundError) as error:
        ledger.capture("db.t", consumer="c")
    assert code_of(error) == "TABLE_NOT_FOUND"
    assert "lake.db.moved" in error.value.message
    assert "lake.db.moved" in error.value.remedy
    assert_unmoved(ledger, frontier)
    assert added(ledger.capture("db.moved", consumer="c").changes) == [2]


def test_a_renamed_table_is_named_by_what_another_consumer_knows(ledger: Ledger, frontier: int) -> None:
    catalog = ledger.lake.catalog("lake")
    catalog.create_namespace("elsewhere")
    catalog.rename_table("db.t", "elsewhere.t")
    with pytest.raises(NotFoundError) as error:
        ledger.capture("db.t", consumer="c")
    assert "elsewhere" not in error.value.message
    ledger.capture("elsewhere.t", consumer="other").commit()
    with pytest.raises(NotFoundError) as error:
        ledger.capture("db.t", consumer="c")
    assert "lake.elsewhere.t" in error.value.message
    assert_unmoved(ledger, frontier)


def test_a_table_that_was_dropped_and_created_again(ledger: Ledger, frontier: int) -> None:
    ledger.lake.catalog("lake").drop_table("db.t")
    append(make_table(ledger), 9)
    with pytest.raises(RefusedError) as error:
        ledger.capture("db.t", consumer="c")
    assert code_of(error) == "TABLE_RECREATED"
    assert "lake.db.t" in error.value.message
    assert_unmoved(ledger, frontier)


def test_a_branch_that_is_gone(ledger: Ledger, table: Table) -> None:
    first = append(table, 1)
    table.refresh().manage_snapshots().create_branch(first, "audit").commit()
    ledger.capture("db.t", consumer="c", branch="audit").commit()
    table.refresh().manage_snapshots().remove_branch("audit").commit()
    with pytest.raises(NotFoundError) as error:
        ledger.capture("db.t", consumer="c", branch="audit")
    assert code_of(error) == "BRANCH_NOT_FOUND"
    assert "lake.db.t" in error.value.message
    assert "calve checkpoint reset lake.db.t --branch audit --consumer c" in error.value.remedy
    assert_unmoved(ledger, first)


def test_a_range_column_that_is_not_there(ledger: Ledger, frontier: int) -> None:
    with pytest.raises(NotFoundError) as error:
        ledger.capture("db.t", consumer="c", range_columns=["absent"])
    assert code_of(error) == "RANGE_COLUMN_NOT_FOUND"
    assert "lake.db.t" in error.value.message
    assert "'absent'" in error.value.message
    assert_unmoved(ledger, frontier)


def test_a_range_column_without_statistics_is_unknown_and_says_why(ledger: Ledger) -> None:
    catalog = ledger.lake.catalog("lake")
    catalog.create_namespace("db")
    table = catalog.create_table("db.bare", SCHEMA, properties={"write.metadata.metrics.default": "none"})
    append(table, 1)
    capture = ledger.capture("db.bare", consumer="c", range_columns=["id"])
    assert capture.ranges["id"].exactness == "unknown"
    assert capture.ranges["id"].lower is None
    (warning,) = capture.warnings
    assert "'id' is unknown" in warning
    assert "no statistics" in warning


@pytest.fixture
def nested(ledger: Ledger) -> Table:
    """`db.n`, with a struct and a list of structs."""
    point = pa.struct([("at", pa.int64()), ("inner", pa.struct([("deep", pa.int64())]))])
    schema = pa.schema([("place", point), ("points", pa.list_(pa.struct([("at", pa.int64())])))])
    catalog = ledger.lake.catalog("lake")
    catalog.create_namespace("db")
    table = catalog.create_table("db.n", schema=schema)
    row = {"place": {"at": 3, "inner": {"deep": 7}}, "points": [{"at": 1}]}
    table.append(pa.Table.from_pylist([row, {"place": None, "points": []}], schema=schema))
    return table


@pytest.mark.usefixtures("nested")
def test_a_field_inside_structs_is_unknown_where_its_writer_keeps_no_bounds(ledger: Ledger) -> None:
    capture = ledger.capture("db.n", consumer="c", range_columns=["place.at", "place.inner.deep"])
    assert {name: bounds.exactness for name, bounds in capture.ranges.items()} == {
        "place.at": "unknown",
        "place.inner.deep": "unknown",
    }
    assert all("no statistics" in warning for warning in capture.warnings)


@pytest.mark.usefixtures("nested")
@pytest.mark.parametrize(
    ("column", "code"),
    [
        ("points.element.at", "RANGE_COLUMN_NESTED"),
        ("points.at", "RANGE_COLUMN_NESTED"),
        ("place.absent", "RANGE_COLUMN_NOT_FOUND"),
        ("place", "RANGE_COLUMN_UNORDERED"),
    ],
)
def test_what_has_no_range_is_refused(ledger: Ledger, column: str, code: str) -> None:
    with pytest.raises(UsageError) as error:
        ledger.capture("db.n", consumer="c", range_columns=[column])
    assert code_of(error) == code
    assert repr(column) in error.value.message
    assert not ledger.checkpoints()
