"""Iceberg tables of any size, made by writing their metadata: their data files never exist."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.entries import ADDED, DELETED, EXISTING, EntryEncoder, records, schema, size, spec
from calve.lake import Lake
from calve.lake.avro import ContainerWriter
from calve.lake.manifest_list import DATA, FieldSummary, ManifestFile, write_manifest_list

#: About as many entries as a manifest of Iceberg's target size (8 MB) holds.
MANIFEST_ENTRIES = 8_000
FIRST_DAY = 19_000
_FIRST_SNAPSHOT_ID = 4_000_000_000_000_000_000
_FIRST_TIMESTAMP = 1_700_000_000_000
_BEFORE = "iceberg-bench"


@dataclass(frozen=True)
class Batch:
    """The files that one manifest added, and the manifest."""

    line: ManifestFile
    files: range


@dataclass(frozen=True)
class Group:
    """What goes into one new manifest: files that are added, and batches taken over from others."""

    added: range
    carried: tuple[Batch, ...] = ()
    removed: frozenset[int] = frozenset()


class TableBuilder:
    """Commits snapshots of made-up files to a table that is registered at the end."""

    def __init__(
        self,
        lake: Lake,
        name: str,
        *,
        format_version: int = 2,
        files_per_day: int = 1000,
        every_nth_day: int = 1,
    ) -> None:
        self._lake = lake
        self.name = name
        self._version = format_version
        self.files_per_day = files_per_day
        self._every_nth_day = every_nth_day
        warehouse = lake.settings.catalog_properties("lake")["warehouse"].removeprefix("file://")
        self._folder = Path(warehouse) / "bench" / name
        (self._folder / "metadata").mkdir(parents=True)
        self.location = f"file://{self._folder}"
        self._encoder = EntryEncoder(self.location, format_version)
        self.next_file = 0
        self._next_row_id = 0
        self._manifests = 0
        self._lines: list[ManifestFile] = []
        self.snapshots: list[dict[str, Any]] = []
        self.batches: list[Batch] = []

    # What a test asks for

    def take(self, count: int) -> range:
        """Numbers of files that are not in the table yet."""
        first = self.next_file
        self.next_file += count
        return range(first, first + count)

    def append(self, count: int, per_manifest: int = MANIFEST_ENTRIES) -> int:
        """A snapshot that adds files in manifests of their own; gives its id."""
        files = self.take(count)
        cuts = range(0, count, per_manifest)
        return self.commit([Group(files[cut : cut + per_manifest]) for cut in cuts])

    def commit(self, groups: Sequence[Group]) -> int:
        """A snapshot that writes these manifests, and drops those whose files they take over."""
        snapshot_id = _FIRST_SNAPSHOT_ID + 7_919 * len(self.snapshots)
        number = len(self.snapshots) + 1
        first_row_id = self._next_row_id
        gone = {batch.line.path for group in groups for batch in group.carried}
        self._lines = [line for line in self._lines if line.path not in gone]
        self.batches = [batch for batch in self.batches if batch.line.path not in gone]
        for group in groups:
            line = self._write_manifest(group, snapshot_id, number)
            self._lines.append(line)
            self.batches.append(Batch(line, group.added))
        listed = write_manifest_list(self._lines, self._version, snapshot_id, number)
        name = f"snap-{snapshot_id}.avro"
        (self._folder / "metadata" / name).write_bytes(listed)
        self._add_snapshot(snapshot_id, number, name, groups, first_row_id)
        return snapshot_id

    def pretend(self, count: int) -> None:
        """Snapshots in the history whose files nobody is going to ask for."""
        for _ in range(count):
            number = len(self.snapshots) + 1
            snapshot_id = _FIRST_SNAPSHOT_ID + 7_919 * len(self.snapshots)
            self._add_snapshot(snapshot_id, number, f"snap-{snapshot_id}.avro", (), self._next_row_id)

    def register(self) -> None:
        """Write the metadata file and make the table known to the catalog."""
        path = self._folder / "metadata" / f"00001-{uuid.uuid4()}.metadata.json"
        path.write_text(json.dumps(self._metadata()))
        catalog = self._lake.catalog("lake")
        catalog.create_namespace_if_not_exists("bench")
        catalog.register_table(("bench", self.name), f"file://{path}")

    # How it is made

    def _write_manifest(self, group: Group, snapshot_id: int, number: int) -> ManifestFile:
        writer = ContainerWriter(self._encoder.schema, self._header())
        first_row_id = self._next_row_id
        oldest = number
        carried = [n for batch in group.carried for n in batch.files]
        for head, data_file in self._carry(group, snapshot_id):
            writer.append(head, data_file)
        for batch in group.carried:
            oldest = min(oldest, batch.line.min_sequence_number)
        added = self._encoder.head(ADDED, snapshot_id, None)
        for file in group.added:
            writer.append(added, self._encoder.data_file(file, self._day(file), None))
        self._next_row_id += sum(map(records, group.added))
        data = writer.finish()
        self._manifests += 1
        path = self._folder / "metadata" / f"{_BEFORE}-m{self._manifests}.avro"
        path.write_bytes(data)
        kept = [n for n in carried if n not in group.removed]
        days = [self._day(n) for n in (*carried, *group.added)]
        bounds = [day.to_bytes(4, "little") for day in (min(days), max(days))]
        return ManifestFile(
            path=f"file://{path}",
            length=len(data),
            spec_id=0,
            content=DATA,
            sequence_number=number,
            min_sequence_number=oldest,
            added_snapshot_id=snapshot_id,
            added_files=len(group.added),
            existing_files=len(kept),
            deleted_files=len(group.removed),
            added_rows=sum(map(records, group.added)),
            existing_rows=sum(map(records, kept)),
            deleted_rows=sum(map(records, group.removed)),
            partitions=(FieldSummary(False, False, *bounds),),
            key_metadata=None,
            first_row_id=first_row_id if self._version >= 3 else None,
        )

    def _carry(self, group: Group, snapshot_id: int) -> Iterator[tuple[bytes, bytes]]:
        for batch in group.carried:
            line = batch.line
            existing = self._encoder.head(EXISTING, line.added_snapshot_id, line.sequence_number)
            deleted = self._encoder.head(DELETED, snapshot_id, line.sequence_number)
            row_id = line.first_row_id
            for file in batch.files:
                head = deleted if file in group.removed else existing
                yield head, self._encoder.data_file(file, self._day(file), row_id)
                row_id = None if row_id is None else row_id + records(file)

    def _day(self, file: int) -> int:
        return FIRST_DAY + file // self.files_per_day * self._every_nth_day

    def _header(self) -> dict[str, bytes]:
        return {
            "schema": schema().model_dump_json().encode(),
            "schema-id": b"0",
            "partition-spec": json.dumps(
                [f.model_dump(by_alias=True) for f in spec().fields], default=str
            ).encode(),
            "partition-spec-id": b"0",
            "format-version": str(self._version).encode(),
            "content": b"data",
        }

    def _add_snapshot(
        self, snapshot_id: int, number: int, name: str, groups: Sequence[Group], first_row_id: int
    ) -> None:
        added = [file for group in groups for file in group.added]
        removed = [file for group in groups for file in group.removed]
        summary = {
            "operation": "overwrite" if removed else "append",
            "spark.app.id": "local-1700000000000",
            "added-data-files": str(len(added)),
            "added-records": str(sum(map(records, added))),
            "added-files-size": str(sum(map(size, added))),
            "changed-partition-count": str(len({self._day(file) for file in (*added, *removed)})),
            "total-records": "1",
            "total-files-size": "1",
            "total-data-files": "1",
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
            "engine-version": "4.1.4",
            "iceberg-version": "Apache Iceberg 1.12.0",
        }
        if removed:
            summary |= {
                "deleted-data-files": str(len(removed)),
                "deleted-records": str(sum(map(records, removed))),
            }
        snapshot: dict[str, Any] = {
            "sequence-number": number,
            "snapshot-id": snapshot_id,
            "timestamp-ms": _FIRST_TIMESTAMP + 60_000 * number,
            "summary": summary,
            "manifest-list": f"{self.location}/metadata/{name}",
            "schema-id": 0,
        }
        if self.snapshots:
            snapshot["parent-snapshot-id"] = self.snapshots[-1]["snapshot-id"]
        if self._version >= 3:
            snapshot |= {"first-row-id": first_row_id, "added-rows": self._next_row_id - first_row_id}
        self.snapshots.append(snapshot)

    def _metadata(self) -> dict[str, Any]:
        last = self.snapshots[-1]
        metadata = {
            "format-version": self._version,
            "table-uuid": str(uuid.uuid4()),
            "location": self.location,
            "last-sequence-number": last["sequence-number"],
            "last-updated-ms": last["timestamp-ms"],
            "last-column-id": len(schema().fields),
            "current-schema-id": 0,
            "schemas": [schema().model_dump()],
            "default-spec-id": 0,
            "partition-specs": [spec().model_dump(by_alias=True, mode="json")],
            "last-partition-id": 1000,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {"owner": "bench"},
            "current-snapshot-id": last["snapshot-id"],
            "refs": {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}},
            "snapshots": self.snapshots,
            "statistics": [],
            "partition-statistics": [],
            "snapshot-log": [
                {"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]} for s in self.snapshots
            ],
            "metadata-log": [],
        }
        if self._version >= 3:
            metadata["next-row-id"] = self._next_row_id
        return metadata
