"""Putting what a branch has changed on top of another, as it is: no data is read or written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calve.backfill.spark.committing import commit, impossible
from calve.backfill.spark.java_files import Difference, JavaFiles, Partition, partition_key
from calve.backfill.spark.targets import find_mark, head_of, table_state
from calve.errors import ConflictError
from calve.spark.once.tables import is_remote

_ATTEMPTS = 20
_EQUALITY = "EQUALITY_DELETES"


def rebase(
    spark: Any,
    table: str,
    branch: str,
    base_snapshot: int | None,
    keep: Sequence[Mapping[str, Any]] | None,
    target_branch: str,
    marker: str,
) -> int:
    """Put the net changes of a branch since a base on top of a target branch; the one snapshot that has them.

    Only those in the partitions to `keep`, named as `Changes.partitions` names them; None: all. A base of
    None is the table before its first snapshot. Done once: a snapshot with the marker in the target's history
    is found; so one is made even where nothing has changed. Raises MAIN_MOVED if the target has changed since
    the base in one of the partitions, REBASE_IMPOSSIBLE if the changes cannot be moved as files.
    """
    if is_remote(spark):
        raise impossible("a session of Spark Connect does not reach Iceberg's own API")
    kept = None if keep is None else {partition_key(values) for values in keep}
    for _ in range(_ATTEMPTS):
        state = table_state(spark, table)
        found = find_mark(state, target_branch, marker)
        if found is not None:
            return found
        head, target = head_of(state, branch), head_of(state, target_branch)
        files = JavaFiles(spark, table)
        wanted = _wanted(files, base_snapshot, head, kept)
        moved = files.difference(base_snapshot, target)
        _refuse_overlap(files, wanted, moved, table, target_branch)
        done = commit(files, _without_gone(wanted, moved), target, target_branch, marker)
        if done is not None:
            return done
    raise ConflictError(
        "REBASE_BUSY",
        f"{table} was written by others at each of {_ATTEMPTS} attempts",
        "try again when fewer writers are busy",
    )


def _wanted(files: JavaFiles, base: int | None, head: int | None, kept: Collection[str] | None) -> Difference:
    if base is not None and not files.has_snapshot(base):
        raise impossible(f"snapshot {base}, from which the branch began, has expired")
    changed = files.difference(base, head)
    wanted = changed if kept is None else changed.where(lambda file: files.partition(file).key in kept)
    if any(str(file.content()) == _EQUALITY for file in (*wanted.added_deletes, *wanted.removed_deletes)):
        raise impossible("the branch has changed equality deletes, which reach only what is older")
    return wanted


def _refuse_overlap(
    files: JavaFiles, wanted: Difference, moved: Difference, table: str, target_branch: str
) -> None:
    own = {files.partition(file) for file in wanted.files}
    others = {files.partition(file) for file in moved.files}
    both = own & others or _unclear(own, others)
    if both:
        named = ", ".join(sorted(found.key for found in both)[:5])
        raise ConflictError(
            "MAIN_MOVED",
            f"{target_branch} of {table} has changed since the branch began, in {len(both)} partitions that "
            f"the branch has changed as well: {named}",
            "replay the chunks of these partitions on a new branch, and keep the others",
        )


def _unclear(own: set[Partition], others: set[Partition]) -> set[Partition]:
    """Partitions of different layouts cannot be told apart: they may hold the same rows."""
    layouts = {found.layout for found in own}
    return {found for found in others if layouts - {found.layout}}


def _without_gone(wanted: Difference, moved: Difference) -> Difference:
    """Without the deletes that are to go and are gone from the target as well."""
    gone = set(map(_identity, moved.removed_deletes))
    left = tuple(file for file in wanted.removed_deletes if _identity(file) not in gone)
    return replace(wanted, removed_deletes=left)


def _identity(file: Any) -> tuple[str, int | None]:
    """Deletion vectors of many data files share one file."""
    return str(file.location()), file.contentOffset()
