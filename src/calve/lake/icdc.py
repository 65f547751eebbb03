"""ICDC tables: Iceberg tables that show files of another table, and own none of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pyiceberg.io import FileIO

from calve.errors import RefusedError
from calve.lake.deletes import DataFileIndex
from calve.lake.lineage import stores_old_numbers
from calve.lake.manifest import Entry, Manifest
from calve.lake.manifest_list import ManifestFile, write_manifest_list
from calve.lake.manifest_rewrite import ManifestRewrite
from calve.lake.metadata import Snapshot, TableMetadata
from calve.lake.stats import ChangeStats, Totals
from calve.lake.storage import is_local, load_manifests, write_bytes

_KEPT_PROPERTIES = ("schema.name-mapping.default",)
_KEPT_PREFIXES = ("read.",)


@dataclass(slots=True)
class IcdcFiles:
    """The metadata files of one ICDC table, all below its own location."""

    io: FileIO
    location: str
    written: list[str] = field(default_factory=list)

    def write(self, name: str, data: bytes) -> str:
        """Write a file of the table's metadata folder, and tell where it is."""
        path = f"{self.location}/metadata/{name}"
        self.written.append(path)
        write_bytes(self.io, path, data)
        return path

    def discard(self) -> None:
        """Remove what was written."""
        while self.written:
            path = self.written.pop()
            if self.io.new_input(path).exists():
                self.io.delete(path)


class StateBuilder:
    """One snapshot of an ICDC table in the making: data files, then the deletes that apply to them.

    `state` is the state of the source that the files are shown in, `read_as` the one whose schema
    they are read with: what went is compared with what came, so both have one schema if they can.
    """

    def __init__(
        self,
        files: IcdcFiles,
        metadata: TableMetadata,
        state: Snapshot | None,
        read_as: Snapshot | None,
        snapshot_id: int,
        stats: ChangeStats,
    ) -> None:
        self._files = files
        self._metadata = metadata
        self._stats = stats
        self._read_as = read_as
        self.state = state
        self.snapshot_id = snapshot_id
        #: Whether row ids and update numbers of all shown files can tell what is new.
        self.keeps_lineage = True
        self.lines: list[ManifestFile] = []
        self.index = DataFileIndex()
        self.totals = Totals()

    @property
    def sequence_number(self) -> int:
        """The sequence number of the source's state, so that no file is younger than its table."""
        return self.state.sequence_number if self.state else 0

    def keep(self, manifest: ManifestFile) -> None:
        """Show a manifest of the source as it is."""
        self.lines.append(manifest)
        if manifest.is_data and manifest.first_row_id is None:
            self.keeps_lineage = False

    def copy(self, manifest: Manifest, include: Callable[[Entry], bool]) -> None:
        """Show those live entries of a manifest that are wanted.

        A manifest that only adds files is shown as it is if all of them are wanted. At the first
        unwanted one it turns out to be written anew, and those before it are read a second time.
        """
        entries = manifest.live()
        wanted = 0
        if manifest.file.adds_only:
            for entry in entries:
                if not include(entry):
                    break
                self._count(entry)
                wanted += 1
            else:
                self.keep(manifest.file)
                return
        with self.rewriting(manifest) as add:
            for entry in islice(manifest.live(), wanted):
                add(entry, counted=True)
            for entry in entries:
                if include(entry):
                    add(entry)

    def _count(self, entry: Entry) -> None:
        if entry.content:
            self.totals.add_delete(entry)
            return
        if not self.index.add(entry):
            raise RefusedError(
                "DUPLICATE_FILES",
                f"{entry.path} would be shown twice: the range or the table itself has it twice",
                "use mode net where the file was removed and added again; else remove it once",
            )
        self.totals.add(entry)
        self._stats.add(entry)
        if entry.first_row_id is None or stores_old_numbers(entry, self._metadata):
            self.keeps_lineage = False

    @contextmanager
    def rewriting(self, manifest: Manifest) -> Iterator[Callable[..., None]]:
        """A function that takes entries of this manifest over; nothing is written if none comes."""
        rewrite: ManifestRewrite | None = None

        def add(entry: Entry, counted: bool = False) -> None:
            nonlocal rewrite
            if rewrite is None:
                # A local disk takes the bytes faster than they are compressed; a network does not.
                deflated = not is_local(self._files.location)
                rewrite = ManifestRewrite(manifest, self._metadata.format_version, self.snapshot_id, deflated)
            rewrite.add(entry)
            if not counted:
                self._count(entry)

        yield add
        if rewrite is not None:
            name = f"{self.snapshot_id}-m{len(self.lines)}.avro"
            path = f"{self._files.location}/metadata/{name}"
            line, data = rewrite.finish(path, self.sequence_number)
            self._files.write(name, data)
            self.lines.append(line)

    def add_deletes(self, io: FileIO, manifests: Iterable[ManifestFile]) -> None:
        """Show those delete files of a state that apply to the data files shown so far."""
        unpartitioned = self._metadata.unpartitioned_specs
        for manifest in load_manifests(io, (m for m in manifests if self.index.may_need(m))):
            self.copy(manifest, lambda entry: self.index.needs(entry, unpartitioned))

    def finish(self, source_uuid: str) -> dict[str, Any]:
        """Write the manifest list, and give the snapshot's JSON."""
        version = self._metadata.format_version
        listed = write_manifest_list(self.lines, version, self.snapshot_id, self.sequence_number)
        location = self._files.write(f"snap-{self.snapshot_id}.avro", listed)
        snapshot: dict[str, Any] = {
            "snapshot-id": self.snapshot_id,
            "timestamp-ms": self.timestamp_ms,
            "manifest-list": location,
            "summary": self._summary(source_uuid),
        }
        if self._read_as is not None and self._read_as.schema_id is not None:
            snapshot["schema-id"] = self._read_as.schema_id
        if version >= 2:
            snapshot["sequence-number"] = self.sequence_number
        if version >= 3:
            snapshot |= {"first-row-id": 0, "added-rows": self.totals.records}
        return snapshot

    @property
    def timestamp_ms(self) -> int:
        """When the source came to the state that is shown."""
        return self.state.timestamp_ms if self.state else int(self._metadata.raw["last-updated-ms"])

    def _summary(self, source_uuid: str) -> dict[str, str]:
        totals = self.totals
        counts = {
            "added-data-files": totals.files,
            "added-records": totals.records,
            "added-files-size": totals.bytes,
            "total-data-files": totals.files,
            "total-records": totals.records,
            "total-files-size": totals.bytes,
            "total-delete-files": totals.delete_files,
            "total-position-deletes": totals.position_deletes,
            "total-equality-deletes": totals.equality_deletes,
        }
        named = {
            "calve.source-uuid": source_uuid,
            "calve.source-snapshot": self.state.id if self.state else None,
        }
        return {"operation": "append"} | {k: str(v) for k, v in {**counts, **named}.items()}


def table_metadata(
    source: TableMetadata, location: str, snapshots: list[dict[str, Any]], properties: Mapping[str, str]
) -> dict[str, Any]:
    """The metadata of an ICDC table: the source's schemas, specs and ids, and snapshots of its own.

    All field ids, schemas and specs stay, because files are read by them. `gc.enabled=false` keeps
    maintenance of this table from removing files that belong to the source.
    """
    current = snapshots[-1]
    kept = {
        k: v for k, v in source.properties.items() if k in _KEPT_PROPERTIES or k.startswith(_KEPT_PREFIXES)
    }
    timestamp = max(snapshot["timestamp-ms"] for snapshot in snapshots)
    metadata = {
        **source.raw,
        "table-uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, location)),
        "location": location,
        "last-updated-ms": timestamp,
        "properties": kept | {"gc.enabled": "false"} | dict(properties),
        "snapshots": snapshots,
        "current-snapshot-id": current["snapshot-id"],
        "refs": {"main": {"snapshot-id": current["snapshot-id"], "type": "branch"}},
        "snapshot-log": [
            {"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]} for s in snapshots
        ],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }
    schema_id = current.get("schema-id")
    if schema_id is not None and schema_id in source.schemas:
        metadata["current-schema-id"] = schema_id
        if "schema" in metadata:
            metadata["schema"] = source.schemas[schema_id]
    return metadata


def write_table(
    files: IcdcFiles, source: TableMetadata, snapshots: list[dict[str, Any]], properties: Mapping[str, str]
) -> str:
    """Write the metadata file, last of all: before it is there, the table does not exist."""
    metadata = table_metadata(source, files.location, snapshots, properties)
    name = f"00000-{metadata['table-uuid']}.metadata.json"
    return files.write(name, json.dumps(metadata).encode())
