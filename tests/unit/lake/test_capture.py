"""Capture over histories that PyIceberg can write: appends, copy-on-write, rollback, expiry, branches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable, Table

from calve.errors import CalveError, CorruptError, NotFoundError, RefusedError, UsageError
from calve.lake import (
    ChangeRequest,
    Lake,
    Mode,
    OnOther,
    Operation,
    Segment,
    drop_changes,
    open_table,
    plan_changes,
    verify_changes,
    write_changes,
)
from support.ledgers import SCHEMA, append, head, rows

from .conftest import Capture

pytestmark = pytest.mark.slow


@pytest.fixture
def table(own_lake: Lake) -> Table:
    return own_lake.catalog("lake").create_table("db.t", schema=SCHEMA)


def code_of(error: pytest.ExceptionInfo[CalveError]) -> str:
    return error.value.code


def test_appends_are_shown_between_exclusive_start_and_inclusive_end(table: Table, capture: Capture) -> None:
    first, second, third = append(table, 1), append(table, 2), append(table, 3)
    found = capture("db.t", Mode.APPEND, first, third)
    assert rows(found.icdc_metadata_location) == [2, 3]
    assert rows(capture("db.t", Mode.APPEND, second, second).icdc_metadata_location) == []
    assert (found.files, found.records, found.operations) == (2, 2, {"append": 2})
    assert found.bytes == sum(task.file.file_size_in_bytes for task in table.scan().plan_files()) * 2 // 3


def test_the_first_capture_shows_the_whole_table(table: Table, capture: Capture) -> None:
    append(table, 1)
    end = append(table, 2)
    for mode in (Mode.APPEND, Mode.NET):
        assert rows(capture("db.t", mode, None, end).icdc_metadata_location) == [1, 2]


def test_append_counts_what_it_leaves_out(table: Table, capture: Capture) -> None:
    start = append(table, 1, 2)
    append(table, 3)
    table.delete("id = 1")
    table.delete("id = 3")
    found = capture("db.t", Mode.APPEND, start, head(table))
    assert rows(found.icdc_metadata_location) == [3]
    assert found.skipped_operations == {"overwrite": 1, "delete": 1}
    assert found.operations == {"append": 1}


def test_append_refuses_other_operations_if_asked_to(table: Table, capture: Capture) -> None:
    start = append(table, 1, 2)
    table.delete("id = 1")
    with pytest.raises(RefusedError, match="1 overwrite") as error:
        capture("db.t", Mode.APPEND, start, head(table), on_other=OnOther.FAIL)
    assert code_of(error) == "OTHER_OPERATIONS"


def test_net_never_leaves_an_operation_out_silently(table: Table, capture: Capture) -> None:
    start = append(table, 1)
    table.delete("id = 1")
    wanted = frozenset({Operation.APPEND, Operation.OVERWRITE})
    with pytest.raises(RefusedError, match="1 delete"):
        capture("db.t", Mode.NET, start, head(table), operations=wanted)


def test_net_shows_what_came_and_what_went(table: Table, capture: Capture) -> None:
    start = append(table, 1, 2)
    append(table, 3)
    table.delete("id = 1")
    found = capture("db.t", Mode.NET, start, head(table))
    assert rows(found.icdc_metadata_location) == [2, 3]
    assert rows(found.removed_metadata_location) == [1, 2]
    assert (found.removed_files, found.removed_records) == (1, 2)


def test_a_file_that_came_and_went_within_the_range_is_not_shown(table: Table, capture: Capture) -> None:
    start = append(table, 1)
    append(table, 2)
    table.delete("id = 2")
    found = capture("db.t", Mode.NET, start, head(table))
    assert not found.has_changes
    assert rows(found.icdc_metadata_location) == []
    assert found.removed_metadata_location is None


def test_log_shows_each_snapshot_by_its_id(table: Table, capture: Capture) -> None:
    start = append(table, 1)
    second = append(table, 2)
    table.delete("id = 2")
    third = head(table)
    found = capture("db.t", Mode.LOG, start, third)
    assert [(step.ordinal, step.snapshot_id, step.operation) for step in found.steps] == [
        (0, second, Operation.APPEND),
        (1, third, Operation.DELETE),
    ]
    assert found.icdc_metadata_location is not None
    after = StaticTable.from_metadata(found.icdc_metadata_location)
    assert after.scan(snapshot_id=second).to_arrow()["id"].to_pylist() == [2]
    assert after.scan(snapshot_id=third).to_arrow()["id"].to_pylist() == []


def test_several_segments_of_appends_are_one_change(table: Table, own_lake: Lake) -> None:
    ids = [append(table, number) for number in range(5)]
    request = ChangeRequest(Mode.APPEND, (Segment(ids[0], ids[1]), Segment(ids[3], ids[4])))
    found = write_changes(plan_changes(open_table(own_lake, "db.t"), request), own_lake.settings.icdc)
    assert rows(found.icdc_metadata_location) == [1, 4]


def test_a_rolled_back_table_is_compared_by_net_and_refused_by_append(table: Table, capture: Capture) -> None:
    first = append(table, 1)
    lost = append(table, 2)
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    end = append(table, 3)
    found = capture("db.t", Mode.NET, lost, end)
    assert rows(found.icdc_metadata_location) == [3]
    assert rows(found.removed_metadata_location) == [2]
    for mode in (Mode.APPEND, Mode.LOG):
        with pytest.raises(RefusedError, match="rolled back or replaced") as error:
            capture("db.t", mode, lost, end)
        assert code_of(error) == "HISTORY_REWRITTEN"


def test_a_reversed_range_is_refused_unless_it_is_a_rollback(table: Table, capture: Capture) -> None:
    first, second = append(table, 1), append(table, 2)
    with pytest.raises(UsageError) as error:
        capture("db.t", Mode.NET, second, first)
    assert code_of(error) == "RANGE_REVERSED"
    found = capture("db.t", Mode.NET, second, first, backward_allowed=True)
    assert rows(found.removed_metadata_location) == [2]


def test_expired_snapshots_in_between_are_refused_by_append_and_fine_for_net(
    table: Table, capture: Capture
) -> None:
    ids = [append(table, number) for number in range(4)]
    table.maintenance.expire_snapshots().by_id(ids[1]).commit()
    assert rows(capture("db.t", Mode.NET, ids[0], ids[3]).icdc_metadata_location) == [1, 2, 3]
    with pytest.raises(RefusedError) as error:
        capture("db.t", Mode.APPEND, ids[0], ids[3])
    assert code_of(error) == "HISTORY_EXPIRED"
    assert "mode net" in error.value.remedy


def test_an_expired_start_that_its_child_forgot_is_refused(table: Table, capture: Capture) -> None:
    ids = [append(table, number) for number in range(3)]
    table.maintenance.expire_snapshots().by_id(ids[0]).commit()
    for mode in (Mode.APPEND, Mode.NET, Mode.LOG):
        with pytest.raises(RefusedError) as error:
            capture("db.t", mode, ids[0], ids[2])
        assert code_of(error) == "HISTORY_EXPIRED"


def test_an_expired_start_is_refused_by_net_where_rows_were_removed(table: Table, capture: Capture) -> None:
    start = append(table, 1, 2)
    table.delete("id = 1")
    end = append(table, 3)
    table.maintenance.expire_snapshots().by_id(start).commit()
    with pytest.raises(RefusedError) as error:
        capture("db.t", Mode.NET, start, end)
    assert code_of(error) == "HISTORY_EXPIRED"


def test_history_that_was_cut_off_starts_from_the_oldest_state_there_is(
    table: Table, capture: Capture
) -> None:
    first = append(table, 1, 2)
    table.delete("id = 1")
    second = head(table)
    end = append(table, 3)
    table.maintenance.expire_snapshots().by_id(first).commit()
    for mode in (Mode.APPEND, Mode.NET):
        assert rows(capture("db.t", mode, None, end).icdc_metadata_location) == [2, 3]
    assert [step.snapshot_id for step in capture("db.t", Mode.LOG, None, end).steps] == [second, end]


def test_a_table_without_snapshots_has_no_changes(table: Table, capture: Capture) -> None:
    for mode in Mode:
        found = capture("db.t", mode, None, None, range_columns=("id",))
        assert not found.has_changes
        assert rows(found.icdc_metadata_location) == []


def test_branches_and_tags_are_bounds(table: Table, own_lake: Lake, capture: Capture) -> None:
    first = append(table, 1)
    table.manage_snapshots().create_branch(first, "side").commit()
    table.append(pa.table({"id": [9], "value": ["x"]}, schema=SCHEMA), branch="side")
    append(table, 2)
    metadata = open_table(own_lake, "db.t").metadata
    end = metadata.current_snapshot_id("side")
    assert metadata.resolve("side") == end
    assert rows(capture("db.t", Mode.APPEND, first, end, branch="side").icdc_metadata_location) == [9]
    found = capture("db.t", Mode.NET, metadata.resolve("main"), end)
    assert (rows(found.icdc_metadata_location), rows(found.removed_metadata_location)) == ([9], [2])


def test_the_same_capture_twice_gives_the_same_tables(table: Table, capture: Capture) -> None:
    start, end = append(table, 1), append(table, 2)
    once, again = (capture("db.t", Mode.APPEND, start, end, salt="me") for _ in range(2))
    assert once == again
    assert capture("db.t", Mode.APPEND, start, end, salt="you").icdc_table != once.icdc_table


def test_the_catalog_knows_the_table_until_it_is_dropped(
    table: Table, own_lake: Lake, capture: Capture
) -> None:
    end = append(table, 1)
    found = capture("db.t", Mode.APPEND, None, end)
    catalog = own_lake.catalog("lake")
    assert found.icdc_table is not None
    identifier = own_lake.resolve(found.icdc_table).identifier
    assert catalog.load_table(identifier).scan().to_arrow().num_rows == 1
    for _ in range(2):
        drop_changes(own_lake, found)
    assert not catalog.table_exists(identifier)
    assert table.scan().to_arrow().num_rows == 1


def test_files_that_expired_are_told_when_asked(table: Table, own_lake: Lake, capture: Capture) -> None:
    start = append(table, 1)
    end = append(table, 2)
    found = capture("db.t", Mode.APPEND, start, end)
    verify_changes(own_lake, found)
    paths = [task.file.file_path for task in table.scan().plan_files()]
    table.delete("id > 0")
    table.maintenance.expire_snapshots().by_id(end).commit()
    verify_changes(own_lake, found)
    for path in paths:
        Path(path.removeprefix("file://")).unlink()
    with pytest.raises(RefusedError) as error:
        verify_changes(own_lake, found)
    assert code_of(error) == "FILES_EXPIRED"


def test_a_source_that_expires_soon_is_warned_of(own_lake: Lake, capture: Capture) -> None:
    properties = {"history.expire.max-snapshot-age-ms": "60000"}
    table = own_lake.catalog("lake").create_table("db.brief", schema=SCHEMA, properties=properties)
    found = capture("db.brief", Mode.APPEND, None, append(table, 1))
    assert "history.expire.max-snapshot-age-ms" in found.warnings[0]


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.NET])
def test_a_damaged_manifest_is_told_and_leaves_nothing_behind(
    table: Table, own_lake: Lake, capture: Capture, home: Path, mode: Mode
) -> None:
    end = append(table, 1)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    path = Path(snapshot.manifests(table.io)[0].manifest_path.removeprefix("file://"))
    whole = path.read_bytes()
    for damage in (whole[: len(whole) // 2], b"\x00" * len(whole), whole[:-30] + b"\x55" * 30):
        path.write_bytes(damage)
        with pytest.raises(CorruptError, match=path.name):
            capture("db.t", mode, None, end, range_columns=("id",))
        assert not list(home.glob("warehouse/_icdc/**/*.avro"))
        assert not list(home.glob("warehouse/_icdc/**/*.json"))
    assert not own_lake.catalog("lake").namespace_exists("icdc")


def test_bad_requests_are_refused_before_anything_is_written(
    table: Table, capture: Capture, home: Path
) -> None:
    end = append(table, 1)
    for wanted, expected in (
        ({"range_columns": ("nope",)}, "RANGE_COLUMN_NOT_FOUND"),
        ({"range_columns": ("id.x",)}, "RANGE_COLUMN_NOT_FOUND"),
        ({"identifier_columns": ("nope",)}, "COLUMN_NOT_FOUND"),
    ):
        with pytest.raises(UsageError) as error:
            capture("db.t", Mode.NET, None, end, **wanted)
        assert code_of(error) == expected
    with pytest.raises(NotFoundError) as missing:
        capture("db.t", Mode.NET, None, 4711)
    assert code_of(missing) == "SNAPSHOT_NOT_FOUND"
    assert not (home / "warehouse" / "_icdc").exists()


def test_a_missing_table_is_told(own_lake: Lake) -> None:
    for name in ("db.nope", "nope.t"):
        with pytest.raises(NotFoundError) as error:
            open_table(own_lake, name)
        assert code_of(error) == "TABLE_NOT_FOUND"
