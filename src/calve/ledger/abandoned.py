"""Open captures whose runs have ended: which of them have written something?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from calve.lake import Lake
from calve.ledger.records import CaptureRecord
from calve.ledger.writes import Write, has_landed, writes_of
from calve.state.database import Database

#: Says of a run, by its `run_ref`, whether it has ended.
IsAbandoned = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Stranded:
    """An open capture of a run that has ended. `writes` are those that `landed` was judged by."""

    record: CaptureRecord
    writes: tuple[Write, ...]
    landed: bool


def find_stranded(
    database: Database,
    lake: Lake,
    records: Iterable[CaptureRecord],
    run_ref: str | None,
    is_abandoned: IsAbandoned,
) -> list[Stranded]:
    """Those of the captures that belong to other runs than this one, which have ended, by age.

    One without anything to process is not counted as landed: writing it again writes nothing.
    """
    found: list[Stranded] = []
    for record in records:
        if record.run_ref is None or record.run_ref == run_ref or not is_abandoned(record.run_ref):
            continue
        with database.read() as connection:
            writes = writes_of(connection, record.id)
        landed = not record.is_idle and has_landed(lake, record.id, writes)
        found.append(Stranded(record, writes, landed))
    return found
