"""Commits to references and properties: each does one thing, twice is once, and nobody's work is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.exceptions import CommitStateUnknownException
from pyiceberg.table import Table

from calve.errors import CalveError, ConflictError, NotFoundError, UsageError
from calve.lake import Lake, SourceTable, create_branch, drop_branch, fast_forward, open_table, set_property
from calve.lake import commits as commits_module
from calve.lake.commits import PropertyChange, RefChange, changed
from calve.lake.metadata import TableMetadata

pytestmark = pytest.mark.slow
ROWS = pa.table({"id": pa.array([1], pa.int64())})


@pytest.fixture
def table(own_lake: Lake) -> Table:
    """A table with one snapshot."""
    made = own_lake.catalog("lake").create_table("db.t", ROWS.schema)
    made.append(ROWS)
    return made


def now(lake: Lake) -> SourceTable:
    return open_table(lake, "db.t")


def heads(lake: Lake) -> dict[str, int]:
    return {name: ref["snapshot-id"] for name, ref in now(lake).metadata.refs().items()}


def append(table: Table, branch: str = "main") -> int:
    table.refresh().append(ROWS, branch=branch)
    snapshot = table.refresh().snapshot_by_name(branch)
    assert snapshot is not None
    return snapshot.snapshot_id


def refused(action: Callable[[], object], kind: type[CalveError]) -> str:
    with pytest.raises(kind) as told:
        action()
    return told.value.code


def test_a_branch_lives_from_creation_over_publication_to_its_end(own_lake: Lake, table: Table) -> None:
    base = heads(own_lake)["main"]
    create_branch(now(own_lake), "b", base)
    head = append(table, "b")
    assert heads(own_lake) == {"main": base, "b": head}
    assert fast_forward(now(own_lake), "b", base) == head
    assert heads(own_lake) == {"main": head, "b": head}
    drop_branch(now(own_lake), "b")
    assert heads(own_lake) == {"main": head}
    assert table.refresh().scan().to_arrow().num_rows == 2
    assert [entry.snapshot_id for entry in table.metadata.snapshot_log] == [base, head]


def test_doing_it_twice_commits_once(own_lake: Lake, table: Table) -> None:
    base = heads(own_lake)["main"]
    create_branch(now(own_lake), "b", base)
    head = append(table, "b")
    for action in (
        lambda: set_property(now(own_lake), "write.wap.enabled", "true"),
        lambda: create_branch(now(own_lake), "c", base),
        lambda: fast_forward(now(own_lake), "b", base),
        lambda: drop_branch(now(own_lake), "c"),
    ):
        action()
        location = now(own_lake).metadata.metadata_location
        action()
        assert now(own_lake).metadata.metadata_location == location
    # Published, and then somebody went on: the publication is still there.
    later = append(table)
    assert fast_forward(now(own_lake), "b", base) == head
    assert heads(own_lake)["main"] == later


def test_main_is_never_moved_from_where_it_was_not_expected(own_lake: Lake, table: Table) -> None:
    base = heads(own_lake)["main"]
    create_branch(now(own_lake), "b", base)
    append(table, "b")
    moved = append(table)
    before = now(own_lake).metadata.metadata_location
    assert refused(lambda: fast_forward(now(own_lake), "b", base), ConflictError) == "MAIN_MOVED"
    assert refused(lambda: fast_forward(now(own_lake), "b", None), ConflictError) == "MAIN_MOVED"
    assert refused(lambda: fast_forward(now(own_lake), "b", moved), ConflictError) == "BRANCH_NOT_DESCENDANT"
    assert refused(lambda: fast_forward(now(own_lake), "gone", moved), ConflictError) == "BRANCH_NOT_FOUND"
    assert now(own_lake).metadata.metadata_location == before


def test_names_that_are_taken_or_reserved_are_refused(own_lake: Lake, table: Table) -> None:
    base = heads(own_lake)["main"]
    create_branch(now(own_lake), "b", base)
    table.refresh().manage_snapshots().create_tag(base, "release").commit()
    later = append(table)
    assert refused(lambda: create_branch(now(own_lake), "b", later), ConflictError) == "BRANCH_TAKEN"
    assert refused(lambda: create_branch(now(own_lake), "release", base), ConflictError) == "BRANCH_TAKEN"
    assert refused(lambda: create_branch(now(own_lake), "x", 5), NotFoundError) == "SNAPSHOT_NOT_FOUND"
    assert refused(lambda: drop_branch(now(own_lake), "release"), UsageError) == "NOT_A_BRANCH"
    for action in (
        lambda: create_branch(now(own_lake), "main", base),
        lambda: drop_branch(now(own_lake), "main"),
        lambda: fast_forward(now(own_lake), "main", base),
    ):
        assert refused(action, UsageError) == "BRANCH_IS_MAIN"


def test_a_table_that_took_the_place_of_another_is_left_alone(own_lake: Lake, table: Table) -> None:
    opened = now(own_lake)
    own_lake.catalog("lake").drop_table("db.t")
    own_lake.catalog("lake").create_table("db.t", ROWS.schema)
    assert refused(lambda: set_property(opened, "k", "v"), ConflictError) == "TABLE_REPLACED"


def test_commits_of_many_at_once_all_land(own_lake: Lake, table: Table) -> None:
    opened, errors = now(own_lake), list[CalveError]()
    base = heads(own_lake)["main"]

    def work(number: int) -> None:
        try:
            create_branch(opened, f"b{number}", base)
            set_property(opened, f"k{number}", "v")
        except CalveError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert set(heads(own_lake)) == {"main", "b0", "b1", "b2", "b3"}
    assert {f"k{n}" for n in range(4)} <= now(own_lake).metadata.properties.keys()


def test_a_commit_of_another_in_between_makes_it_look_again(
    own_lake: Lake, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = heads(own_lake)["main"]
    create_branch(now(own_lake), "b", base)
    append(table, "b")
    real: Any = commits_module._swap
    others: Iterator[Callable[[], object]] = iter(
        [lambda: set_property(now(own_lake), "k", "v"), lambda: append(table)]
    )

    def swapping(*arguments: Any) -> bool:
        other = next(others, None)
        if other is not None:
            other()
        return bool(real(*arguments))

    monkeypatch.setattr(commits_module, "_swap", swapping)
    assert refused(lambda: fast_forward(now(own_lake), "b", base), ConflictError) == "MAIN_MOVED"
    assert now(own_lake).metadata.properties["k"] == "v"
    listed = {file.rsplit("/", 1)[-1] for file in _metadata_files(own_lake)}
    logged = {
        entry["metadata-file"].rsplit("/", 1)[-1] for entry in now(own_lake).metadata.raw["metadata-log"]
    }
    assert listed - logged == {now(own_lake).metadata.metadata_location.rsplit("/", 1)[-1]}


def test_a_commit_whose_outcome_is_unknown_is_looked_for_before_it_is_tried_again(
    own_lake: Lake, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Any = commits_module._swap
    outcomes = list[bool]()

    def swapping(*arguments: Any) -> bool:
        outcomes.append(real(*arguments))
        raise CommitStateUnknownException("the connection was lost")

    monkeypatch.setattr(commits_module, "_swap", swapping)
    set_property(now(own_lake), "k", "v")
    assert outcomes == [True]
    assert now(own_lake).metadata.properties["k"] == "v"


def test_a_table_that_never_stands_still_is_given_up(
    own_lake: Lake, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits_module, "ATTEMPTS", 2)
    monkeypatch.setattr(commits_module, "_swap", lambda *arguments: False)
    assert refused(lambda: set_property(now(own_lake), "k", "v"), ConflictError) == "COMMITS_COLLIDE"
    assert "k" not in now(own_lake).metadata.properties


def _metadata_files(lake: Lake) -> list[str]:
    from calve.lake.listing import list_files

    source = now(lake)
    found = list_files(source.io, f"{source.metadata.location}/metadata")
    return [file.location for file in found if file.location.endswith(".metadata.json")]


@settings(max_examples=50)
@given(
    extra=st.dictionaries(st.sampled_from(["next-row-id", "statistics", "encryption-keys"]), st.integers()),
    version=st.integers(1, 3),
    value=st.text(),
)
def test_all_that_a_change_is_not_about_stays(extra: dict[str, int], version: int, value: str) -> None:
    kept = {"type": "branch", "max-ref-age-ms": 5, "snapshot-id": 1}
    raw = {
        **extra,
        "format-version": version,
        "location": "file:///t",
        "last-updated-ms": 50,
        "refs": {"main": kept},
        "current-snapshot-id": 1,
        "properties": {"a": "b"},
    }
    metadata = TableMetadata(raw, "file:///t/metadata/00003-x.metadata.json")
    logged = {"metadata-log": [{"timestamp-ms": 50, "metadata-file": metadata.metadata_location}]}
    with_property = changed(metadata, PropertyChange("k", value), now_ms=60)
    assert with_property == raw | logged | {"last-updated-ms": 60, "properties": {"a": "b", "k": value}}
    forwarded = changed(metadata, RefChange("main", 1, 2), now_ms=40)
    assert forwarded == raw | logged | {
        "refs": {"main": kept | {"snapshot-id": 2}},
        "current-snapshot-id": 2,
        "snapshot-log": [{"timestamp-ms": 50, "snapshot-id": 2}],
    }
    branched = changed(metadata, RefChange("b", None, 1), now_ms=40)
    assert branched == raw | logged | {"refs": {"main": kept, "b": {"type": "branch", "snapshot-id": 1}}}


def test_a_main_that_is_told_by_the_current_snapshot_alone_becomes_a_reference() -> None:
    raw = {"format-version": 1, "location": "file:///t", "last-updated-ms": 50, "current-snapshot-id": 1}
    metadata = TableMetadata(raw, "file:///t/metadata/v3.metadata.json")
    refs = {name: {"snapshot-id": 1, "type": "branch"} for name in ("main", "b")}
    assert changed(metadata, RefChange("b", None, 1), now_ms=60)["refs"] == refs
