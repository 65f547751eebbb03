"""Manifest entries of made-up data files, encoded fast: nothing ever opens the files themselves."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from string import ascii_lowercase
from typing import Any

from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import data_file_with_partition, manifest_entry_schema_with_data_file
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform
from pyiceberg.types import DoubleType, LongType, NestedField, PrimitiveType, StringType, TimestampType
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from calve.lake.avro import encode_bytes, encode_long

COLUMNS = 20
DAY_FIELD_ID = 1000
EXISTING, ADDED, DELETED = 0, 1, 2
_KINDS: tuple[PrimitiveType, ...] = (LongType(), DoubleType(), StringType(), LongType())
_COLUMN_TYPES = (TimestampType(), *(_KINDS[column % len(_KINDS)] for column in range(2, COLUMNS + 1)))
#: So many different sets of statistics that no two equal ones fall into one window of the compressor.
_VARIANTS = 512
_DAY = 86_400_000_000
_NULL, _PRESENT, _END = b"\x00", b"\x02", b"\x00"


def schema() -> Schema:
    """A timestamp and 19 more columns."""
    names = ("at", *(f"c{column:02d}" for column in range(2, COLUMNS + 1)))
    typed = zip(names, _COLUMN_TYPES, strict=True)
    return Schema(*(NestedField(at, *column, required=False) for at, column in enumerate(typed, start=1)))


def spec() -> PartitionSpec:
    """By day."""
    return PartitionSpec(PartitionField(1, DAY_FIELD_ID, DayTransform(), "at_day"), spec_id=0)


def entry_schema(format_version: int) -> dict[str, Any]:
    """The Avro schema of the entries, as a writer of that format version has it."""
    files = data_file_with_partition(spec().partition_type(schema()), format_version=format_version)  # type: ignore[arg-type]
    entry = manifest_entry_schema_with_data_file(format_version, files)  # type: ignore[arg-type]
    converted: dict[str, Any] = AvroSchemaConversion().iceberg_to_avro(entry, schema_name="manifest_entry")  # type: ignore[assignment]
    return converted


def records(number: int) -> int:
    """How many records a file has."""
    return 1000 + number % 997


def size(number: int) -> int:
    """How many bytes a file has."""
    return 20_000_000 + 31 * (number % 99_991)


def _map(values: list[bytes]) -> bytes:
    return _PRESENT + encode_long(len(values)) + _pairs(values, first=1) + _END


def _pairs(values: list[bytes], first: int) -> bytes:
    return b"".join(encode_long(column) + value for column, value in enumerate(values, start=first))


@cache
def _statistics() -> list[dict[str, bytes]]:
    source = random.Random(20)
    return [_one_statistics(source) for _ in range(_VARIANTS)]


def _one_statistics(source: random.Random) -> dict[str, bytes]:
    def longs(highest: int) -> bytes:
        return _map([encode_long(source.randrange(highest)) for _ in range(COLUMNS)])

    def bounds() -> bytes:
        return _pairs([encode_bytes(_bound(kind, source)) for kind in _COLUMN_TYPES[1:]], first=2) + _END

    return {
        "column_sizes": longs(2_000_000),
        "value_counts": longs(2_000),
        "null_value_counts": longs(50),
        "nan_value_counts": _PRESENT + encode_long(1) + encode_long(5) + encode_long(0) + _END,
        "lower_bounds": bounds(),
        "upper_bounds": bounds(),
    }


def _bound(kind: PrimitiveType, source: random.Random) -> bytes:
    """A value of a column: an id, an amount, a word of 6 to 16 letters."""
    if isinstance(kind, StringType):
        return "".join(source.choices(ascii_lowercase, k=source.randint(6, 16))).encode()
    if isinstance(kind, DoubleType):
        return to_bytes(kind, round(source.uniform(0, 10_000), 2))
    return to_bytes(kind, source.randrange(10**9))


class EntryEncoder:
    """Encodes the entries of one table, in the order of the fields of its entry schema."""

    def __init__(self, location: str, format_version: int) -> None:
        self.schema = entry_schema(format_version)
        fields = next(f["type"]["fields"] for f in self.schema["fields"] if f["name"] == "data_file")
        self._names = [field["name"] for field in fields]
        self._location = location
        # What the field is in every file, or how it follows from the file's number and day.
        self._fixed = {
            "content": encode_long(0),
            "file_format": encode_bytes(b"PARQUET"),
            "key_metadata": _NULL,
            "split_offsets": _PRESENT + encode_long(1) + encode_long(4) + _END,
            "equality_ids": _NULL,
            "sort_order_id": _PRESENT + encode_long(0),
            "referenced_data_file": _NULL,
            "content_offset": _NULL,
            "content_size_in_bytes": _NULL,
        }
        self._varied: dict[str, Callable[[int, int], bytes]] = {
            "file_path": self._path,
            "partition": lambda number, day: _PRESENT + encode_long(day),
            "record_count": lambda number, day: encode_long(records(number)),
            "file_size_in_bytes": lambda number, day: encode_long(size(number)),
            "lower_bounds": lambda number, day: self._bounds("lower_bounds", number, day, number % 997),
            "upper_bounds": lambda number, day: self._bounds(
                "upper_bounds", number, day, 2_000 + number % 997
            ),
        }

    def _path(self, number: int, day: int) -> bytes:
        name = f"{number * 2_654_435_761 % 2**32:08x}-{number:08d}-00001.parquet"
        return encode_bytes(f"{self._location}/data/at_day={day}/{name}".encode())

    def _bounds(self, name: str, number: int, day: int, millionths: int) -> bytes:
        """Bounds of all columns; that of the time lies within the file's day, as partitions promise."""
        moment = day * _DAY + millionths * (_DAY // 1_000_000)
        first = encode_long(1) + encode_bytes(moment.to_bytes(8, "little", signed=True))
        return _PRESENT + encode_long(COLUMNS) + first + _statistics()[number % _VARIANTS][name]

    def data_file(self, number: int, day: int, first_row_id: int | None) -> bytes:
        """The part of an entry that describes the file."""
        known = _statistics()[number % _VARIANTS]
        row_id = _NULL if first_row_id is None else _PRESENT + encode_long(first_row_id)
        parts = []
        for name in self._names:
            if name in self._varied:
                parts.append(self._varied[name](number, day))
            elif name == "first_row_id":
                parts.append(row_id)
            else:
                parts.append(self._fixed[name] if name in self._fixed else known[name])
        return b"".join(parts)

    def head(self, status: int, snapshot_id: int, sequence_number: int | None) -> bytes:
        """The part before it; a file that is added leaves its sequence numbers to the manifest list."""
        number = _NULL if sequence_number is None else _PRESENT + encode_long(sequence_number)
        return encode_long(status) + _PRESENT + encode_long(snapshot_id) + number + number
