"""One snapshot of files that are there already, on top of a branch.

Iceberg's `RowDelta` takes data files and delete files in and out in one snapshot. It looks for conflicts by
what was added meanwhile, and would let a concurrent removal pass. So the snapshot is made by it, and
committed here: only on the very state of the branch that was looked at.
"""

from __future__ import annotations

from typing import Any

from calve.backfill.spark.java_files import Difference, JavaFiles
from calve.backfill.spark.targets import BACKFILL_PROPERTY
from calve.errors import ConflictError, RefusedError
from calve.lake.lineage import MOVED_PROPERTY

_FAILED = "org.apache.iceberg.exceptions.CommitFailedException"
_UNKNOWN = "org.apache.iceberg.exceptions.CommitStateUnknownException"
_INVALID = "org.apache.iceberg.exceptions.ValidationException"


def commit(
    files: JavaFiles, wanted: Difference, target: int | None, target_branch: str, marker: str
) -> int | None:
    """The new snapshot; None if the table was written meanwhile."""
    from py4j.protocol import Py4JJavaError

    operations = files.table.operations()
    snapshot = _apply(files, _delta(files, wanted, target, target_branch, marker), target, target_branch)
    if snapshot is None:
        return None
    base = operations.current()
    if snapshot.parentId() != target or _head(base, target_branch) != target:
        _discard(files, snapshot)
        return None
    updated = files.metadata_builder(base).setBranchSnapshot(snapshot, target_branch).build()
    try:
        operations.commit(base, updated)
    except Py4JJavaError as error:
        if _is(error, _FAILED):
            _discard(files, snapshot)
        elif not _is(error, _UNKNOWN):
            raise
        # Whether one of unknown outcome has landed is seen by its marker.
        return None
    return int(snapshot.snapshotId())


def _apply(files: JavaFiles, delta: Any, target: int | None, target_branch: str) -> Any | None:
    """The snapshot, not yet committed; None if the target has moved on. Raises MAIN_MOVED."""
    from py4j.protocol import Py4JJavaError

    try:
        return delta.apply()
    except Py4JJavaError as error:
        if not _is(error, _INVALID):
            raise
        if _head(files.table.operations().refresh(), target_branch) != target:
            return None
        raise ConflictError(
            "MAIN_MOVED",
            f"what the branch has changed does not fit {target_branch}: {error.java_exception.getMessage()}",
            "replay all chunks on a new branch",
        ) from error


def _delta(files: JavaFiles, wanted: Difference, target: int | None, target_branch: str, marker: str) -> Any:
    from pyspark.errors import IllegalArgumentException

    delta = files.table.newRowDelta().toBranch(target_branch)
    for put, found in (
        (delta.addRows, wanted.added_data),
        (delta.removeRows, wanted.removed_data),
        (delta.addDeletes, wanted.added_deletes),
        (delta.removeDeletes, wanted.removed_deletes),
    ):
        for file in found:
            try:
                put(file)
            except IllegalArgumentException as error:
                # Such as deletes in the form of an older format than the table now has.
                raise impossible(str(error)) from error
    # A file that is to go and is not there fails the commit.
    delta.validateDeletedFiles()
    if target is not None:
        delta.validateFromSnapshot(target)
    delta.set(BACKFILL_PROPERTY, marker)
    delta.set(MOVED_PROPERTY, "true")
    return delta


def _head(metadata: Any, branch: str) -> int | None:
    ref = metadata.ref(branch)
    return None if ref is None else int(ref.snapshotId())


def _discard(files: JavaFiles, snapshot: Any) -> None:
    """Remove the metadata that was written for a snapshot that never came to be."""
    io = files.table.io()
    for manifest in snapshot.allManifests(io):
        if manifest.snapshotId() == snapshot.snapshotId():
            io.deleteFile(manifest.path())
    io.deleteFile(snapshot.manifestListLocation())


def _is(error: Any, class_name: str) -> bool:
    return str(error.java_exception.getClass().getName()) == class_name


def impossible(reason: str) -> RefusedError:
    """The error of changes that cannot be moved as files."""
    return RefusedError(
        "REBASE_IMPOSSIBLE", f"the branch cannot be moved as it is: {reason}", "replay all of its chunks"
    )
