"""Which workflows a backfill takes, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calve.backfill.lineage.graph import Lineage
from calve.backfill.lineage.model import CaptureUse, TableWrite, WorkflowTables
from calve.backfill.request import ALL, NONE
from calve.errors import UsageError


@dataclass(frozen=True, slots=True)
class Chosen:
    """A workflow of a backfill with its tables, those of the workflows that it calls included."""

    workflow_id: str
    version: int
    reads: frozenset[str]
    writes: tuple[TableWrite, ...]
    captures: tuple[CaptureUse, ...]
    unknown: tuple[str, ...]

    @property
    def written(self) -> frozenset[str]:
        """The tables that it writes."""
        return frozenset(write.table for write in self.writes)


def choose(lineage: Lineage, workflow_id: str, downstream: Sequence[str]) -> list[Chosen]:
    """The workflow and those downstream that are wanted, each after all that it reads from.

    Raises WORKFLOW_NOT_FOUND, DOWNSTREAM_INVALID and LINEAGE_CYCLE.
    """
    first = _tables(lineage, lineage.workflow(workflow_id))
    found = {workflow_id: first}
    wanted = None if tuple(downstream) == (ALL,) else set(downstream) - {NONE}
    if wanted is not None and ALL in wanted:
        raise _invalid(f"'{ALL}' stands among other names", f"give {ALL}, {NONE}, or names of workflows")
    waiting = [first]
    while waiting:
        for reader in _readers(lineage, waiting.pop()):
            if reader not in found and (wanted is None or reader in wanted):
                found[reader] = _tables(lineage, lineage.workflow(reader))
                waiting.append(found[reader])
    missing = sorted((wanted or set()) - set(found))
    if missing:
        known = ", ".join(sorted(set(lineage.downstream(workflow_id).workflows) - {workflow_id})) or "none"
        raise _invalid(
            f"{', '.join(missing)} is not downstream of '{workflow_id}', or only through workflows left out",
            f"downstream are: {known}",
        )
    ordered = [name for name in lineage.order(found) if name != workflow_id]
    return [first, *(found[name] for name in ordered)]


def _readers(lineage: Lineage, chosen: Chosen) -> list[str]:
    readers = {reader for table in chosen.written for reader in lineage.readers(table)}
    return sorted(readers - {chosen.workflow_id})


def _tables(lineage: Lineage, own: WorkflowTables) -> Chosen:
    parts = (own, *lineage.called(own.workflow_id))
    writes: dict[str, TableWrite] = {}
    for write in (write for part in parts for write in part.writes):
        writes.setdefault(write.table, write)
    return Chosen(
        own.workflow_id,
        own.version,
        frozenset(name for part in parts for name in part.read_names),
        tuple(writes.values()),
        tuple(capture for part in parts for capture in part.captures),
        tuple(unknown.why for part in parts for unknown in part.unknown),
    )


def _invalid(found: str, remedy: str) -> UsageError:
    return UsageError("DOWNSTREAM_INVALID", found, remedy)
