"""Manifest lists: which manifests a snapshot consists of, read and written for formats 1 to 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from calve.lake.avro import ContainerWriter, encode_bytes, encode_long, open_container
from calve.lake.avro_types import TypeCompiler

DATA, DELETES = 0, 1


class FieldSummary(NamedTuple):
    """What a manifest says of one partition field over all of its files."""

    contains_null: bool
    contains_nan: bool | None
    lower: bytes | None
    upper: bytes | None


class ManifestFile(NamedTuple):
    """One line of a manifest list. Counts are None where a format 1 writer left them out.

    A named tuple, as these are made by the hundred for every capture, however small.
    """

    path: str
    length: int
    spec_id: int
    content: int
    sequence_number: int
    min_sequence_number: int
    added_snapshot_id: int
    added_files: int | None
    existing_files: int | None
    deleted_files: int | None
    added_rows: int | None
    existing_rows: int | None
    deleted_rows: int | None
    partitions: tuple[FieldSummary, ...] | None
    key_metadata: bytes | None
    first_row_id: int | None

    @property
    def is_data(self) -> bool:
        """Whether it lists data files, not delete files."""
        return self.content == DATA

    @property
    def adds_only(self) -> bool:
        """Whether all of its entries were added by the snapshot that wrote it.

        Such a manifest can be taken over into another table as it is.
        """
        return bool(self.added_files) and self.existing_files == 0 and self.deleted_files == 0


# Field id, name, Avro type, whether it may be missing from format 2 on.
_FIELDS: tuple[tuple[int, str, str, bool], ...] = (
    (500, "manifest_path", "string", False),
    (501, "manifest_length", "long", False),
    (502, "partition_spec_id", "int", False),
    (517, "content", "int", False),
    (515, "sequence_number", "long", False),
    (516, "min_sequence_number", "long", False),
    (503, "added_snapshot_id", "long", False),
    (504, "added_files_count", "int", False),
    (505, "existing_files_count", "int", False),
    (506, "deleted_files_count", "int", False),
    (512, "added_rows_count", "long", False),
    (513, "existing_rows_count", "long", False),
    (514, "deleted_rows_count", "long", False),
    (507, "partitions", "partitions", True),
    (519, "key_metadata", "bytes", True),
    (520, "first_row_id", "long", True),
)
_SUMMARY_TYPE = {
    "type": "array",
    "element-id": 508,
    "items": {
        "type": "record",
        "name": "r508",
        "fields": [
            {"name": "contains_null", "type": "boolean", "field-id": 509},
            {"name": "contains_nan", "type": ["null", "boolean"], "default": None, "field-id": 518},
            {"name": "lower_bound", "type": ["null", "bytes"], "default": None, "field-id": 510},
            {"name": "upper_bound", "type": ["null", "bytes"], "default": None, "field-id": 511},
        ],
    },
}
_SUMMARY_IDS = (509, 518, 510, 511)
_SINCE_FORMAT = {517: 2, 515: 2, 516: 2, 520: 3}
# Format 1 requires only these; its other fields may be missing.
_REQUIRED_IN_FORMAT_1 = {500, 501, 502, 503}


def _fields_of(format_version: int) -> Iterable[tuple[int, str, str, bool]]:
    for field_id, name, kind, optional in _FIELDS:
        if _SINCE_FORMAT.get(field_id, 1) <= format_version:
            loose = format_version == 1 and field_id not in _REQUIRED_IN_FORMAT_1
            yield field_id, name, kind, optional or loose


def _schema(format_version: int) -> dict[str, Any]:
    fields: list[dict[str, Any]] = []
    for field_id, name, kind, optional in _fields_of(format_version):
        avro_type: Any = _SUMMARY_TYPE if kind == "partitions" else kind
        field: dict[str, Any] = {"name": name, "type": avro_type, "field-id": field_id}
        if optional:
            field |= {"type": ["null", avro_type], "default": None}
        fields.append(field)
    return {"type": "record", "name": "manifest_file", "fields": fields}


def read_manifest_list(data: bytes) -> list[ManifestFile]:
    """The manifests of a snapshot, in order. Raises ValueError where the file is damaged."""
    container = open_container(data)
    schema = container.schema
    read = TypeCompiler().compile(schema)
    places = _places(schema)
    summary_order = _summary_order(schema)
    found: list[ManifestFile] = []
    for block in container.blocks():
        decoder = block.decoder()
        records = ((*read(decoder), None) for _ in range(block.count))
        found += [_to_manifest([record[at] for at in places], summary_order) for record in records]
        block.check_end(decoder)
    return found


def _places(schema: dict[str, Any]) -> list[int]:
    """Where each field stands in the records of this file; one that is missing, behind all of them."""
    ids = [field.get("field-id") for field in schema["fields"]]
    known = [field_id for field_id, *_ in _FIELDS]
    return [ids.index(i) if i in ids or i in _REQUIRED_IN_FORMAT_1 else -1 for i in known]


def _summary_order(schema: dict[str, Any]) -> list[int | None]:
    """Where each part of a field summary stands in the records of this file."""
    for field in schema["fields"]:
        if field.get("field-id") == 507:
            branches = field["type"] if isinstance(field["type"], list) else [field["type"]]
            array = next(branch for branch in branches if branch != "null")
            ids = [part.get("field-id") for part in array["items"]["fields"]]
            return [ids.index(wanted) if wanted in ids else None for wanted in _SUMMARY_IDS]
    return []


def _to_manifest(values: list[Any], order: list[int | None]) -> ManifestFile:
    path, length, spec_id, content, number, min_number, snapshot_id, *counts, summaries, key, row_id = values
    partitions = None
    if summaries is not None:
        partitions = tuple([_to_summary(summary, order) for summary in summaries])
    numbers = (content or DATA, number or 0, min_number or 0, snapshot_id or 0)
    return ManifestFile._make((path, length, spec_id, *numbers, *counts, partitions, key, row_id))


def _to_summary(summary: tuple[Any, ...], order: list[int | None]) -> FieldSummary:
    null, nan, lower, upper = [None if at is None else summary[at] for at in order]
    return FieldSummary(bool(null), nan, lower, upper)


def write_manifest_list(
    manifests: Sequence[ManifestFile], format_version: int, snapshot_id: int, sequence_number: int
) -> bytes:
    """A manifest list that shows these manifests; each line is kept as it is given."""
    metadata = {
        "format-version": str(format_version).encode(),
        "snapshot-id": str(snapshot_id).encode(),
        "parent-snapshot-id": b"null",
    }
    if format_version >= 2:
        metadata["sequence-number"] = str(sequence_number).encode()
    if format_version >= 3:
        metadata["first-row-id"] = b"0"
    writer = ContainerWriter(_schema(format_version), metadata)
    for manifest in manifests:
        writer.append(*_encode(manifest, format_version))
    return writer.finish()


def _encode(manifest: ManifestFile, format_version: int) -> Iterable[bytes]:
    values = (
        manifest.path,
        manifest.length,
        manifest.spec_id,
        manifest.content,
        manifest.sequence_number,
        manifest.min_sequence_number,
        manifest.added_snapshot_id,
        manifest.added_files,
        manifest.existing_files,
        manifest.deleted_files,
        manifest.added_rows,
        manifest.existing_rows,
        manifest.deleted_rows,
        manifest.partitions,
        manifest.key_metadata,
        manifest.first_row_id,
    )
    by_id = {field[0]: value for field, value in zip(_FIELDS, values, strict=True)}
    for field_id, _, kind, optional in _fields_of(format_version):
        value = by_id[field_id]
        if optional:
            yield b"\x00" if value is None else b"\x02"
        if value is not None:
            yield _encode_value(kind, value)


def _encode_value(kind: str, value: Any) -> bytes:
    if kind == "string":
        return encode_bytes(value.encode())
    if kind == "bytes":
        return encode_bytes(value)
    if kind == "partitions":
        return b"".join([encode_long(len(value)) if value else b"", *map(_encode_summary, value), b"\x00"])
    return encode_long(value)


def _encode_summary(summary: FieldSummary) -> bytes:
    nan = b"\x00" if summary.contains_nan is None else b"\x02" + bytes([summary.contains_nan])
    bounds = (b"\x00" if b is None else b"\x02" + encode_bytes(b) for b in (summary.lower, summary.upper))
    return bytes([summary.contains_null]) + nan + b"".join(bounds)
