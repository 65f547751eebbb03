"""Lists that come page by page."""

from __future__ import annotations

from collections.abc import Callable

from calve.cli.client import Json


def gather(ask: Callable[[int, str | None], Json], key: str, limit: int, page_limit: int) -> Json:
    """The first `limit` entries, however many pages they are on, and the cursor of what comes after.

    `ask` gives a page of so many entries at most after a cursor; a page may hold fewer and not be the last.
    """
    found: list[Json] = []
    cursor: str | None = None
    while len(found) < limit:
        page = ask(min(page_limit, limit - len(found)), cursor)
        found += page[key]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    return {key: found, "next_cursor": cursor}
