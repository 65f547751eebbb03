"""Where a consumer starts, as people say it."""

from __future__ import annotations

from datetime import UTC, datetime

from calve.lake.metadata import TableMetadata


def start_of(text: str, metadata: TableMetadata, branch: str) -> int | None:
    """The snapshot to start after: `earliest`, `latest`, a moment, a snapshot id, a branch or a tag.

    A moment without a time zone is UTC. Raises SNAPSHOT_NOT_FOUND.
    """
    if text == "earliest":
        return None
    if text == "latest":
        return metadata.current_snapshot_id(branch)
    moment = None if text in metadata.refs() else _moment(text)
    if moment is not None:
        return metadata.snapshot_before(int(moment.timestamp() * 1000), branch)
    return metadata.resolve(text)


def _moment(text: str) -> datetime | None:
    # A snapshot id is all digits, and so is a date in ISO's basic form: the id is meant.
    if text.lstrip("-").isdigit():
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
