from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list as pyiceberg_reads

from calve.lake.manifest_list import FieldSummary, ManifestFile, read_manifest_list, write_manifest_list

COUNT = st.integers(0, 2**31 - 1)
LONG = st.integers(0, 2**63 - 1)
SUMMARY = st.builds(
    FieldSummary, st.booleans(), st.none() | st.booleans(), st.none() | st.binary(), st.none() | st.binary()
)
MANIFEST = st.builds(
    ManifestFile,
    path=st.text(min_size=1),
    length=LONG,
    spec_id=COUNT,
    content=st.sampled_from([0, 1]),
    sequence_number=LONG,
    min_sequence_number=LONG,
    added_snapshot_id=LONG,
    added_files=COUNT,
    existing_files=COUNT,
    deleted_files=COUNT,
    added_rows=LONG,
    existing_rows=LONG,
    deleted_rows=LONG,
    partitions=st.none() | st.lists(SUMMARY, max_size=3).map(tuple),
    key_metadata=st.none() | st.binary(),
    first_row_id=st.none() | LONG,
)


def example(**other: object) -> ManifestFile:
    plain: dict[str, object] = {
        "path": "file:///m.avro",
        "length": 10,
        "spec_id": 0,
        "content": 0,
        "sequence_number": 0,
        "min_sequence_number": 0,
        "added_snapshot_id": 7,
        "added_files": None,
        "existing_files": None,
        "deleted_files": None,
        "added_rows": None,
        "existing_rows": None,
        "deleted_rows": None,
        "partitions": (FieldSummary(False, None, b"\x01", b"\x02"),),
        "key_metadata": None,
        "first_row_id": None,
    }
    return ManifestFile(**{**plain, **other})  # type: ignore[arg-type]


@given(st.lists(MANIFEST))
def test_format_3_keeps_every_field(manifests: list[ManifestFile]) -> None:
    assert read_manifest_list(write_manifest_list(manifests, 3, 1, 1)) == manifests


def test_format_1_may_leave_counts_out() -> None:
    manifest = example()
    assert read_manifest_list(write_manifest_list([manifest], 1, 1, 0)) == [manifest]


@pytest.mark.parametrize("format_version", [1, 2])
def test_pyiceberg_reads_the_same(tmp_path: Path, format_version: int) -> None:
    counts = dict.fromkeys(("existing_files", "deleted_files", "existing_rows", "deleted_rows"), 0)
    numbers = {"sequence_number": 9, "min_sequence_number": 4} if format_version == 2 else {}
    manifest = example(added_files=3, added_rows=30, **counts, **numbers)
    file = tmp_path / "list.avro"
    file.write_bytes(write_manifest_list([manifest], format_version, 1, 9))
    (read,) = pyiceberg_reads(PyArrowFileIO().new_input(str(file)))
    assert read.manifest_path == manifest.path
    assert (read.added_snapshot_id, read.added_files_count, read.added_rows_count) == (7, 3, 30)
    assert (read.sequence_number, read.min_sequence_number) == ((9, 4) if format_version == 2 else (0, 0))
    assert read.partitions is not None
    assert read.partitions[0].upper_bound == b"\x02"


def test_only_manifests_that_add_and_do_nothing_else_are_taken_as_they_are() -> None:
    assert example(added_files=2, existing_files=0, deleted_files=0).adds_only
    assert not example(added_files=2, existing_files=1, deleted_files=0).adds_only
    assert not example(added_files=2, existing_files=0, deleted_files=1).adds_only
    assert not example(added_files=0, existing_files=0, deleted_files=0).adds_only
    assert not example().adds_only
