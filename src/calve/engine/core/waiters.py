"""Steps of one engine that wait for room under a tag."""

from __future__ import annotations

from collections.abc import Iterator

from calve.engine.core.step_state import AttemptKey


class Waiters:
    """Who waits under which tag, in the order they came. A step waits under one tag at a time."""

    def __init__(self) -> None:
        self._by_tag: dict[str, dict[AttemptKey, None]] = {}
        self._tag_of: dict[AttemptKey, str] = {}

    def __bool__(self) -> bool:
        return bool(self._tag_of)

    def __contains__(self, key: AttemptKey) -> bool:
        return key in self._tag_of

    def add(self, tag: str, key: AttemptKey) -> None:
        """Let a step wait under a tag; it keeps its place if it does so already."""
        if self._tag_of.get(key) == tag:
            return
        self.remove(key)
        self._tag_of[key] = tag
        self._by_tag.setdefault(tag, {})[key] = None

    def remove(self, key: AttemptKey) -> None:
        """A step waits no longer."""
        tag = self._tag_of.pop(key, None)
        if tag is not None:
            del self._by_tag[tag][key]
            if not self._by_tag[tag]:
                del self._by_tag[tag]

    def tag_of(self, key: AttemptKey) -> str | None:
        """The tag that a step waits under."""
        return self._tag_of.get(key)

    def first(self, tag: str) -> AttemptKey | None:
        """Who waits longest under a tag."""
        return next(iter(self._by_tag.get(tag, ())), None)

    def firsts(self) -> Iterator[AttemptKey]:
        """Who waits longest, for each tag."""
        for waiting in list(self._by_tag.values()):
            yield next(iter(waiting))

    def clear(self) -> None:
        """Nobody waits."""
        self._by_tag.clear()
        self._tag_of.clear()
