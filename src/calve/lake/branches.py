"""Branches of a table, made, dropped and published without a JVM. Doing any of it twice is fine."""

from __future__ import annotations

from calve.errors import ConflictError, UsageError
from calve.lake.commits import MAIN, PropertyChange, RefChange, commit
from calve.lake.metadata import TableMetadata
from calve.lake.tables import SourceTable


def create_branch(table: SourceTable, branch: str, snapshot_id: int) -> None:
    """Make a branch that starts at a snapshot.

    Raises BRANCH_TAKEN if there is a branch or tag of this name elsewhere, SNAPSHOT_NOT_FOUND, and
    as `commit` does.
    """
    _refuse_main(branch)

    def decide(metadata: TableMetadata) -> RefChange | None:
        ref = metadata.refs().get(branch)
        if ref is None:
            return RefChange(branch, None, metadata.snapshot(snapshot_id).id)
        if ref.get("type", "branch") == "branch" and ref["snapshot-id"] == snapshot_id:
            return None
        raise ConflictError(
            "BRANCH_TAKEN",
            f"{table.name} has a {ref.get('type', 'branch')} {branch!r} at snapshot {ref['snapshot-id']},"
            f" and it was to start at {snapshot_id}",
            "drop it if nobody needs it, or take another name",
        )

    commit(table, decide)


def drop_branch(table: SourceTable, branch: str) -> None:
    """Drop a branch; its snapshots stay until they expire. Raises NOT_A_BRANCH, and as `commit` does."""
    _refuse_main(branch)

    def decide(metadata: TableMetadata) -> RefChange | None:
        if branch not in metadata.refs():
            return None
        return RefChange(branch, metadata.current_snapshot_id(branch), None)

    commit(table, decide)


def fast_forward(table: SourceTable, branch: str, expected_main: int | None) -> int:
    """Bring main to the head of a branch, and give that snapshot.

    Only if main is still at the expected snapshot; None is a table whose main has none yet. A main
    that holds the head of the branch already is left as it is. Raises ConflictError MAIN_MOVED,
    BRANCH_NOT_FOUND or BRANCH_NOT_DESCENDANT, and as `commit` does.
    """
    _refuse_main(branch)
    head = 0

    def decide(metadata: TableMetadata) -> RefChange | None:
        nonlocal head
        head, main = _head(table, metadata, branch), metadata.current_snapshot_id(MAIN)
        if main is not None and metadata.is_ancestor(head, main):
            return None
        if main != expected_main:
            raise ConflictError(
                "MAIN_MOVED",
                f"main of {table.name} is at snapshot {main}, and was expected at {expected_main}",
                "bring the changes of the branch onto the main that is there now",
            )
        if main is not None and not metadata.is_ancestor(main, head):
            raise ConflictError(
                "BRANCH_NOT_DESCENDANT",
                f"{head}, the head of {branch!r} of {table.name}, was not made from {main}, where main is",
                "bring the changes of the branch onto the main that is there now",
            )
        return RefChange(MAIN, main, head)

    commit(table, decide)
    return head


def set_property(table: SourceTable, key: str, value: str) -> None:
    """Give a table property a value; nothing is committed where it has it. Raises as `commit` does."""

    def decide(metadata: TableMetadata) -> PropertyChange | None:
        return None if metadata.properties.get(key) == value else PropertyChange(key, value)

    commit(table, decide)


def _head(table: SourceTable, metadata: TableMetadata, branch: str) -> int:
    if branch in metadata.refs():
        head = metadata.current_snapshot_id(branch)
        assert head is not None
        return head
    known = ", ".join(sorted(metadata.refs())) or "none"
    raise ConflictError(
        "BRANCH_NOT_FOUND",
        f"{table.name} has no branch {branch!r} any more; it has {known}",
        "it was dropped or never written: write it again from the start",
    )


def _refuse_main(branch: str) -> None:
    if branch == MAIN:
        raise UsageError(
            "BRANCH_IS_MAIN", "main is what all other branches are published to", "give another branch"
        )
