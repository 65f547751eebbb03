"""What a snapshot did, by its summary alone."""

from __future__ import annotations

import pytest

from calve.lake.lag import summary_operation
from calve.lake.metadata import Snapshot
from calve.lake.model import Operation


def snapshot(operation: str | None, **summary: int) -> Snapshot:
    counted = {key.replace("_", "-"): str(value) for key, value in summary.items()}
    return Snapshot(1, None, 1, 0, None, operation, counted, None, None, None)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (snapshot("append", added_data_files=1), Operation.APPEND),
        (snapshot("overwrite", added_data_files=1), Operation.APPEND),
        (snapshot("overwrite", added_data_files=1, deleted_data_files=1), Operation.OVERWRITE),
        (snapshot("append", added_data_files=1, added_delete_files=1), Operation.OVERWRITE),
        (snapshot("overwrite", deleted_data_files=1), Operation.DELETE),
        (snapshot("delete", added_delete_files=1), Operation.DELETE),
        (snapshot("replace", added_data_files=1, deleted_data_files=2), Operation.REPLACE),
        (
            snapshot("replace", added_data_files=1, deleted_data_files=1, added_records=9, deleted_records=1),
            Operation.OVERWRITE,
        ),
        (snapshot("delete"), Operation.DELETE),
        (snapshot("append"), Operation.APPEND),
        (snapshot(None), Operation.APPEND),
        (snapshot("merge"), Operation.APPEND),
    ],
)
def test_what_a_snapshot_did_follows_from_its_counts_and_then_from_its_name(
    found: Snapshot, expected: Operation
) -> None:
    assert summary_operation(found) is expected
