"""Whether the branches of a stage still have all that its chunks wrote."""

from __future__ import annotations

from calve.backfill.stages.work import Work
from calve.backfill.store import read_chunks
from calve.errors import RefusedError
from calve.lake import open_table
from calve.ledger.writes import writes_of


def check_branches(work: Work) -> None:
    """Refuse to go on with a branch that was dropped or moved by hand. Raises BRANCH_LOST."""
    branch = work.state.branch
    if branch is None:
        return
    landed = _landed(work)
    for name, snapshots in landed.items():
        if name not in work.state.targets:
            continue
        metadata = open_table(work.ledger.lake, name).metadata
        head = metadata.current_snapshot_id(branch) if branch in metadata.refs() else None
        there = set() if head is None else {snapshot.id for snapshot in metadata.ancestry(head)}
        if missing := snapshots - there:
            raise RefusedError(
                "BRANCH_LOST",
                f"the branch {branch} of {name} lacks {len(missing)} snapshots that chunks wrote: "
                "it was dropped or moved by hand",
                f"nothing was published; cancel it with `calve backfill cancel {work.backfill.id}`, "
                "and plan it anew",
            )


def _landed(work: Work) -> dict[str, set[int]]:
    """What the chunks of this round wrote, by target."""
    with work.orchestrator.database.read() as connection:
        chunks = read_chunks(connection, work.backfill.id, work.stage.ordinal)
    pairs = [
        (chunk.workflow_id, chunk.instance_id)
        for chunk in chunks
        if chunk.round == work.state.round and chunk.instance_id is not None
    ]
    records = work.ledger.captures_of_instances(pairs)
    found: dict[str, set[int]] = {}
    with work.ledger.database.read() as connection:
        for write in (write for record in records for write in writes_of(connection, record.id)):
            if write.snapshot_id is not None:
                found.setdefault(write.target, set()).add(write.snapshot_id)
    return found
