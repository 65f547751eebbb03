"""Limits on how many steps with a tag run at a time."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select, update

from calve.errors import NotFoundError, UsageError
from calve.state.dialect import lock_name
from calve.state.orchestration import permit_limits

TAG_LIMIT = 512


def set_permit(connection: Connection, tag: str, max_allowed: int) -> None:
    """Let at most so many steps with the tag run at a time; 0 lets none."""
    if not tag.strip() or len(tag) > TAG_LIMIT or not tag.isprintable():
        raise UsageError("PERMIT_INVALID", f"found the tag {tag[:40]!r}", f"give 1 to {TAG_LIMIT} characters")
    if not 0 <= max_allowed < 2**31:
        raise UsageError("PERMIT_INVALID", f"found a limit of {max_allowed}", "give 0 or more")
    lock_name(connection, "permit", tag)
    values = {"max_allowed": max_allowed}
    if find_permit(connection, tag) is None:
        connection.execute(insert(permit_limits).values(tag=tag, **values))
    else:
        connection.execute(update(permit_limits).where(permit_limits.c.tag == tag).values(values))


def find_permit(connection: Connection, tag: str) -> int | None:
    """How many steps with the tag may run at a time; None if there is no limit."""
    query = select(permit_limits.c.max_allowed).where(permit_limits.c.tag == tag)
    return connection.execute(query).scalar()


def get_permit(connection: Connection, tag: str) -> int:
    """The limit of a tag; PERMIT_NOT_FOUND if it has none."""
    found = find_permit(connection, tag)
    if found is None:
        raise _not_found(tag)
    return found


def list_permits(connection: Connection) -> dict[str, int]:
    """All limits, by tag."""
    query = select(permit_limits).order_by(permit_limits.c.tag)
    return {row.tag: row.max_allowed for row in connection.execute(query)}


def delete_permit(connection: Connection, tag: str) -> None:
    """Take the limit off a tag; PERMIT_NOT_FOUND if it has none."""
    if not connection.execute(delete(permit_limits).where(permit_limits.c.tag == tag)).rowcount:
        raise _not_found(tag)


def _not_found(tag: str) -> NotFoundError:
    return NotFoundError("PERMIT_NOT_FOUND", f"the tag '{tag}' has no limit", "check the tag; case counts")
