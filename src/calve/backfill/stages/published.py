"""What a stage has published to a table already."""

from __future__ import annotations

from calve.backfill.spark.targets import BACKFILL_PROPERTY
from calve.backfill.stages.work import Work
from calve.lake import Segment, SourceTable
from calve.lake.commits import MAIN


def find_published(work: Work, name: str, table: SourceTable) -> Segment | None:
    """What this round has published to a table already, before a crash or just now."""
    metadata, base = table.metadata, work.state.targets[name].base
    main, branch = metadata.current_snapshot_id(MAIN), work.state.branch
    if main is None or branch is None:
        return None
    for snapshot in metadata.ancestry(main):
        if snapshot.summary.get(BACKFILL_PROPERTY) == work.marker("publish"):
            return Segment(snapshot.parent_id, snapshot.id)
        if snapshot.id == base:
            break
    if branch in metadata.refs():
        head = metadata.current_snapshot_id(branch)
        if head is not None and (head == main or metadata.is_ancestor(head, main)):
            return Segment(base, head)
    return None
