"""Manifests: the entries of data and delete files, read fast, with what they inherit filled in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from calve.errors import CalveError, CorruptError
from calve.lake.avro import Block, Container, open_container
from calve.lake.avro_types import Read, TypeCompiler, pair_value
from calve.lake.manifest_list import ManifestFile

EXISTING, ADDED, DELETED = 0, 1, 2
POSITION_DELETES, EQUALITY_DELETES = 1, 2

# Field ids of an entry and of its data_file, from the Iceberg specification.
STATUS, SNAPSHOT_ID, DATA_FILE, SEQUENCE_NUMBER, FILE_SEQUENCE_NUMBER = 0, 1, 2, 3, 4
CONTENT, FILE_PATH, PARTITION, RECORD_COUNT, FILE_SIZE = 134, 100, 102, 103, 104
VALUE_COUNTS, NULL_COUNTS, NAN_COUNTS, LOWER_BOUNDS, UPPER_BOUNDS = 109, 110, 137, 125, 128
KEY_METADATA, EQUALITY_IDS, FIRST_ROW_ID = 131, 135, 142
REFERENCED_DATA_FILE, CONTENT_OFFSET, CONTENT_SIZE = 143, 144, 145
#: The column of a position delete file that holds the path of the data file.
DELETE_FILE_PATH_COLUMN = 2147483546


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """How the entries of one Avro schema are laid out, compiled once per schema."""

    schema: dict[str, Any]
    before: tuple[Read, ...]  # the fields before data_file
    after: tuple[Read, ...]  # and those after it
    around: dict[int, int]  # field id of these → place among their values
    data_file: tuple[Read, ...]
    index: dict[int, int]  # field id of data_file → place among its values
    data_file_schema: dict[str, Any]

    @property
    def row_id_index(self) -> int | None:
        """The place of `first_row_id`, or None in manifests from before format 3."""
        return self.index.get(FIRST_ROW_ID)


@lru_cache(maxsize=256)
def compile_layout(schema_json: bytes) -> EntryLayout:
    """The layout of a manifest's entries, from the schema in its header."""
    schema = json.loads(schema_json)
    compiler = TypeCompiler()
    ids = [part.get("field-id") for part in schema["fields"]]
    if DATA_FILE not in ids:
        raise ValueError("the entries have no data_file")
    at = ids.index(DATA_FILE)
    data_file_schema = schema["fields"][at]["type"]
    before = tuple(compiler.compile(part["type"]) for part in schema["fields"][:at])
    data_file = tuple(compiler.compile(part["type"]) for part in data_file_schema["fields"])
    after = tuple(compiler.compile(part["type"]) for part in schema["fields"][at + 1 :])
    around = {field_id: place for place, field_id in enumerate(ids[:at] + ids[at + 1 :])}
    index = {part["field-id"]: place for place, part in enumerate(data_file_schema["fields"])}
    return EntryLayout(schema, before, after, around, data_file, index, data_file_schema)


@dataclass(slots=True)
class Entry:
    """One file of a manifest. Not frozen for speed alone: nothing outside this module changes it."""

    status: int
    snapshot_id: int
    sequence_number: int
    file_sequence_number: int
    first_row_id: int | None
    spec_id: int
    layout: EntryLayout
    values: list[Any] = field(repr=False)
    data: bytes = field(repr=False)
    start: int
    end: int
    row_id_span: tuple[int, int]  # where first_row_id stands within the bytes; empty at the end if nowhere

    def value(self, field_id: int) -> Any:
        """A field of data_file by its id; None where the writer did not know the field."""
        at = self.layout.index.get(field_id)
        return None if at is None else self.values[at]

    @property
    def path(self) -> str:
        """The location of the file, as it is written in the manifest."""
        path: str = self.values[self.layout.index[FILE_PATH]]
        return path

    @property
    def content(self) -> int:
        """0 for data, 1 for position deletes and deletion vectors, 2 for equality deletes."""
        return self.value(CONTENT) or 0

    @property
    def partition(self) -> tuple[Any, ...]:
        """The partition values in the order of the spec, as Avro stores them."""
        partition: tuple[Any, ...] = self.values[self.layout.index[PARTITION]]
        return partition

    @property
    def record_count(self) -> int:
        """How many records the file holds."""
        count: int = self.values[self.layout.index[RECORD_COUNT]]
        return count

    @property
    def file_size(self) -> int:
        """The size of the file in bytes."""
        size: int = self.values[self.layout.index[FILE_SIZE]]
        return size

    @property
    def identity(self) -> tuple[str, int, int | None, int | None]:
        """What tells a delete from others: several deletion vectors share one Puffin file."""
        return self.path, self.sequence_number, self.value(CONTENT_OFFSET), self.value(CONTENT_SIZE)

    def lower(self, column_id: int) -> bytes | None:
        """The lower bound of a column, in Iceberg's binary form."""
        bounds = self.value(LOWER_BOUNDS)
        return bounds.get(column_id) if bounds else None

    def upper(self, column_id: int) -> bytes | None:
        """The upper bound of a column, in Iceberg's binary form."""
        bounds = self.value(UPPER_BOUNDS)
        return bounds.get(column_id) if bounds else None

    def count_of(self, counts_field: int, column_id: int) -> int | None:
        """A count of a column: VALUE_COUNTS, NULL_COUNTS or NAN_COUNTS; None where unknown."""
        return pair_value(self.value(counts_field), column_id)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An opened manifest: its line in the manifest list, and its entries."""

    file: ManifestFile
    container: Container
    layout: EntryLayout

    def live(self) -> Iterator[Entry]:
        """The entries of files that are part of the snapshot."""
        return (entry for entry in self.entries() if entry.status != DELETED)

    def entries(self) -> Iterator[Entry]:
        """All entries in order, sequence numbers, snapshot ids and row ids inherited.

        Raises CorruptError where the file is damaged.
        """
        try:
            yield from self._inherit()
        except CalveError:
            raise
        except Exception as damage:  # damaged bytes can fail in any way a decoder knows
            raise CorruptError.damaged(self.file.path, damage) from damage

    def _inherit(self) -> Iterator[Entry]:
        next_row_id = self.file.first_row_id if self.file.is_data else None
        for block in self.container.blocks():
            for entry in self._decode(block):
                if next_row_id is None:
                    # Without a first row id on its manifest a file has no row ids, whatever it says.
                    entry.first_row_id = None
                elif entry.status != DELETED and entry.first_row_id is None:
                    entry.first_row_id = next_row_id
                    next_row_id += entry.record_count
                yield entry

    def _decode(self, block: Block) -> Iterator[Entry]:
        decoder, data, layout, manifest = block.decoder(), block.data, self.layout, self.file
        before, after, row_id_index = layout.before, layout.after, layout.row_id_index
        # Fields that an older writer did not know are found behind all others, as None.
        fields = (SNAPSHOT_ID, SEQUENCE_NUMBER, FILE_SEQUENCE_NUMBER)
        at_snapshot, at_number, at_file_number = (layout.around.get(field_id, -1) for field_id in fields)
        at_status = layout.around[STATUS]
        split = len(layout.data_file) if row_id_index is None else row_id_index
        head, tail = layout.data_file[:split], layout.data_file[split + 1 :]
        read_row_id = None if row_id_index is None else layout.data_file[row_id_index]
        for _ in range(block.count):
            around = [read_part(decoder) for read_part in before]
            start = decoder.tell()
            values = [read_part(decoder) for read_part in head]
            end = row_id_start = row_id_end = decoder.tell()
            if read_row_id is not None:
                values.append(read_row_id(decoder))
                row_id_end = decoder.tell()
                values += [read_part(decoder) for read_part in tail]
                end = decoder.tell()
            around += [read_part(decoder) for read_part in after]
            around.append(None)
            status = around[at_status]
            # Format 1 has no sequence numbers, they count as 0; later ones inherit for added files.
            inherits = status == ADDED or manifest.sequence_number == 0
            inherited = manifest.sequence_number if inherits else 0
            sequence_number, file_sequence_number = around[at_number], around[at_file_number]
            snapshot_id = around[at_snapshot]
            yield Entry(
                status,
                manifest.added_snapshot_id if snapshot_id is None else snapshot_id,
                inherited if sequence_number is None else sequence_number,
                inherited if file_sequence_number is None else file_sequence_number,
                None if row_id_index is None else values[row_id_index],
                manifest.spec_id,
                layout,
                values,
                data,
                start,
                end,
                (row_id_start, row_id_end),
            )
        block.check_end(decoder)


def open_manifest(file: ManifestFile, data: bytes) -> Manifest:
    """A manifest from its bytes. Raises ValueError where the header is damaged."""
    container = open_container(data)
    return Manifest(file, container, compile_layout(container.metadata["avro.schema"]))
