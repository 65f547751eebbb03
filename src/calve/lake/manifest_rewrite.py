"""Rewrites a manifest for another table: fewer entries, nothing lost of those that stay.

What a file inherits in the source table (sequence numbers, row ids) is written out, because the
other table would hand down its own; all else is copied byte for byte, under the schema and the
partition spec that the source's own writer put in the header.
"""

from __future__ import annotations

from typing import Any

from calve.lake.avro import ContainerWriter, encode_long
from calve.lake.manifest import DATA_FILE, FIRST_ROW_ID, Entry, Manifest
from calve.lake.manifest_list import ManifestFile

_ADDED = encode_long(1)
_PRESENT, _ABSENT = b"\x02", b"\x00"


def _optional_long(name: str, field_id: int) -> dict[str, Any]:
    return {"name": name, "type": ["null", "long"], "default": None, "field-id": field_id}


class ManifestRewrite:
    """A copy of one manifest that holds only the entries it is given, as added files."""

    def __init__(self, source: Manifest, format_version: int, snapshot_id: int, deflated: bool) -> None:
        self._source = source
        self._snapshot_id = snapshot_id
        self._numbered = format_version >= 2
        self._with_row_ids = format_version >= 3
        metadata = dict(source.container.metadata) | {"format-version": str(format_version).encode()}
        self._writer = ContainerWriter(self._entry_schema(), metadata, deflated)
        self._head = _ADDED + _PRESENT + encode_long(snapshot_id)
        self._numbers: dict[int, bytes] = {}
        self._rows = 0
        self._min_sequence_number: int | None = None
        self.count = 0

    def _entry_schema(self) -> dict[str, Any]:
        data_file = self._source.layout.data_file_schema
        if self._with_row_ids and self._source.layout.row_id_index is None:
            data_file = data_file | {
                "fields": [*data_file["fields"], _optional_long("first_row_id", FIRST_ROW_ID)]
            }
        fields = [
            {"name": "status", "type": "int", "field-id": 0},
            _optional_long("snapshot_id", 1),
        ]
        if self._numbered:
            fields += [_optional_long("sequence_number", 3), _optional_long("file_sequence_number", 4)]
        fields.append({"name": "data_file", "type": data_file, "field-id": DATA_FILE})
        return {"type": "record", "name": "manifest_entry", "fields": fields}

    def _number(self, value: int) -> bytes:
        encoded = self._numbers.get(value)
        if encoded is None:
            encoded = self._numbers[value] = _PRESENT + encode_long(value)
        return encoded

    def add(self, entry: Entry) -> None:
        """Take an entry of the source manifest over."""
        head = self._head
        if self._numbered:
            head += self._number(entry.sequence_number) + self._number(entry.file_sequence_number)
        if self._with_row_ids:
            row_id = _ABSENT if entry.first_row_id is None else _PRESENT + encode_long(entry.first_row_id)
            before, after = entry.row_id_span
            self._writer.append(head, entry.data[entry.start : before], row_id, entry.data[after : entry.end])
        else:
            self._writer.append(head, entry.data[entry.start : entry.end])
        self.count += 1
        self._rows += entry.record_count
        lowest = self._min_sequence_number
        if lowest is None or entry.sequence_number < lowest:
            self._min_sequence_number = entry.sequence_number

    def finish(self, path: str, sequence_number: int) -> tuple[ManifestFile, bytes]:
        """The manifest's bytes, and its line for the manifest list."""
        data = self._writer.finish()
        source = self._source.file
        line = source._replace(
            path=path,
            length=len(data),
            sequence_number=sequence_number,
            min_sequence_number=self._min_sequence_number or 0,
            added_snapshot_id=self._snapshot_id,
            added_files=self.count,
            existing_files=0,
            deleted_files=0,
            added_rows=self._rows,
            existing_rows=0,
            deleted_rows=0,
        )
        return line, data
