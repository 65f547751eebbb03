"""A capture in the hands of who asked for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calve.errors import FailedError, NotFoundError, UsageError
from calve.lake.model import Changes
from calve.ledger.records import CaptureRecord
from calve.state.clock import to_iso


@dataclass(frozen=True, slots=True)
class Settled:
    """What committing or releasing a capture did; `dropped` says whether its ICDC tables are gone."""

    record: CaptureRecord
    dropped: bool
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The outcome as the CLI and the API show it."""
        record = self.record
        return {
            "capture_id": record.id,
            "consumer": record.consumer,
            "status": record.status.value,
            "committed_at": to_iso(record.committed_at),
            "released_at": to_iso(record.released_at),
            "sources": [
                {
                    "table": source.table_name,
                    "table_uuid": source.table_uuid,
                    "branch": source.branch,
                    "from_snapshot_id": source.segments[0].from_snapshot_exclusive,
                    "to_snapshot_id": source.segments[-1].to_snapshot_inclusive,
                }
                for source in record.sources
            ],
            "dropped": self.dropped,
            "warnings": list(self.warnings),
        }


class Capture:
    """What changed for a consumer, in one or more tables.

    With one table, everything that `Changes` has can be read from the capture itself:
    `capture.icdc_table`, `capture.has_changes`, `capture.ranges`. With several, look at
    `capture.sources`.
    """

    def __init__(
        self,
        record: CaptureRecord,
        commit: Callable[[str, bool], Settled],
        release: Callable[[str], Settled],
    ) -> None:
        self.record = record
        self._commit = commit
        self._release = release

    @property
    def id(self) -> str:
        """The capture's id."""
        return self.record.id

    @property
    def consumer(self) -> str:
        """Who it is for."""
        return self.record.consumer

    @property
    def sources(self) -> tuple[Changes, ...]:
        """The changes of each table, in the order in which they were asked for."""
        return self.record.changes

    @property
    def changes(self) -> Changes:
        """The changes of the only table. Raises CAPTURE_NOT_READY, CAPTURE_HAS_SEVERAL_TABLES."""
        found = self.sources
        if not found:
            raise FailedError(
                "CAPTURE_NOT_READY",
                f"the tables of capture {self.id} are not written",
                "capture again to finish it",
            )
        if len(found) > 1:
            raise UsageError(
                "CAPTURE_HAS_SEVERAL_TABLES",
                f"capture {self.id} has {len(found)} tables, and one was asked for",
                "look at `capture.sources`",
            )
        return found[0]

    def source(self, alias: str) -> Changes:
        """The changes of the table of that alias. Raises ALIAS_NOT_FOUND."""
        for own in self.record.sources:
            if own.alias == alias and own.changes is not None:
                return own.changes
        known = ", ".join(own.alias for own in self.record.sources)
        raise NotFoundError(
            "ALIAS_NOT_FOUND",
            f"capture {self.id} has no table of the alias {alias!r}; it has {known}",
            "check the alias",
        )

    @property
    def aliases(self) -> tuple[str, ...]:
        """The alias of each table, in the order of `sources`."""
        return tuple(own.alias for own in self.record.sources)

    def commit(self, keep: bool = False) -> Settled:
        """Its changes are processed. Safe to repeat; with `keep` the ICDC tables stay."""
        return self._commit(self.id, keep)

    def release(self) -> Settled:
        """Give its changes back: they are in the next capture. Safe to repeat."""
        return self._release(self.id)

    def to_json(self) -> dict[str, Any]:
        """The capture as the CLI and the API show it: flat with one table."""
        head = {"capture_id": self.id, "consumer": self.consumer}
        shown = [self._source_json(at, changes) for at, changes in enumerate(self.sources)]
        return {**head, **shown[0]} if len(shown) == 1 else {**head, "sources": shown}

    def _source_json(self, at: int, changes: Changes) -> dict[str, Any]:
        lookback = self.record.lookback
        return {
            **changes.to_json(),
            "alias": self.record.sources[at].alias,
            "lookback": lookback[at].to_json() if lookback else None,
        }

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.changes, name)

    def __repr__(self) -> str:
        return f"<Capture {self.id} of {self.consumer}: {self.record.status.value}>"
