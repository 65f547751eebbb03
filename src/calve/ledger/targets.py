"""The newest write of each target table."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select

from calve.state.dialect import lock_name
from calve.state.schema import capture_writes, target_tables


def settle_target(connection: Connection, target: str) -> None:
    """Note which of the writes into a table that have landed is the newest, if there is one."""
    # Whoever lands beside this one waits, and then sees it.
    lock_name(connection, "target", target)
    newest = (
        select(capture_writes.c.landed_at, capture_writes.c.capture_id)
        .where(capture_writes.c.target == target, capture_writes.c.landed_at.is_not(None))
        .order_by(capture_writes.c.landed_at.desc(), capture_writes.c.capture_id.desc())
        .limit(1)
    )
    found = connection.execute(newest).first()
    connection.execute(delete(target_tables).where(target_tables.c.target == target))
    if found is not None:
        values = {"target": target, "landed_at": found.landed_at, "capture_id": found.capture_id}
        connection.execute(insert(target_tables).values(values))
