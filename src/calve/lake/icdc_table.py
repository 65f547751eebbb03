"""An ICDC table from its first file to its entry in the catalog, or to nothing of it being left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.io import load_file_io

from calve.errors import CalveError, UnreachableError
from calve.lake.icdc import IcdcFiles, StateBuilder, write_table
from calve.lake.metadata import Snapshot
from calve.lake.model import Mode
from calve.lake.names import IcdcName
from calve.lake.registry import register, unregister
from calve.lake.stats import ChangeStats, Totals
from calve.lake.tables import SourceTable
from calve.settings import IcdcSettings


@dataclass(slots=True)
class IcdcTable:
    """An ICDC table in the making."""

    source: SourceTable
    name: IcdcName
    files: IcdcFiles
    settings: IcdcSettings
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)

    @classmethod
    def start(cls, source: SourceTable, name: IcdcName, settings: IcdcSettings) -> IcdcTable:
        """A table of which nothing is written yet."""
        io = load_file_io(source.lake.catalog(source.name.catalog).properties, name.location)
        return cls(source, name, IcdcFiles(io, name.location), settings)

    def builder(
        self,
        state: Snapshot | None,
        read_as: Snapshot | None,
        stats: ChangeStats,
        snapshot_id: int | None = None,
    ) -> StateBuilder:
        """What a snapshot of the table is made with."""
        chosen = snapshot_id or self.name.snapshot_id
        return StateBuilder(self.files, self.source.metadata, state, read_as, chosen, stats)

    def add(self, builder: StateBuilder) -> None:
        """Close a snapshot."""
        self.snapshots.append(builder.finish(self.source.uuid))
        for part in ("files", "records", "bytes"):
            setattr(self.totals, part, getattr(self.totals, part) + getattr(builder.totals, part))

    def publish(self, mode: Mode) -> str:
        """Make the table exist, and give the location of its metadata."""
        properties = {
            "calve.source-table": str(self.source.name),
            "calve.source-uuid": self.source.uuid,
            "calve.mode": mode.value,
        }
        location = write_table(self.files, self.source.metadata, self.snapshots, properties)
        if self.settings.register_tables:
            register(self.source.lake, self.name.table, location)
        return location

    def withdraw(self) -> None:
        """Remove what was written."""
        if self.files.written and self.settings.register_tables:
            unregister(self.source.lake, self.name.table)
        self.files.discard()

    @property
    def shown_name(self) -> str | None:
        """The name to use in SQL, or None where tables are not registered."""
        return str(self.name.table) if self.settings.register_tables else None


@contextmanager
def withdrawing(*tables: IcdcTable) -> Iterator[None]:
    """Remove what was written if it turns out to be impossible.

    After any other failure it is left to the next try, or to `calve gc`: another process may be
    writing the same tables, to the same places.
    """
    try:
        yield
    except UnreachableError:
        raise
    except CalveError:
        for table in tables:
            table.withdraw()
        raise
