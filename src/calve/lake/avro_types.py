"""Turns Avro schemas into functions: one that reads a value, compiled once per schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyiceberg.avro.decoder import BinaryDecoder

Read = Callable[[BinaryDecoder], Any]

_PRIMITIVES: dict[str, Read] = {
    "null": lambda decoder: None,
    "boolean": lambda decoder: decoder.read_boolean(),
    "int": lambda decoder: decoder.read_int(),
    "long": lambda decoder: decoder.read_int(),
    "float": lambda decoder: _same_nan(decoder.read_float()),
    "double": lambda decoder: _same_nan(decoder.read_double()),
    "bytes": lambda decoder: decoder.read_bytes(),
    "string": lambda decoder: decoder.read_utf8(),
    "enum": lambda decoder: decoder.read_int(),
}


def block_sizes(decoder: BinaryDecoder) -> Iterator[int]:
    """The item counts of an array's or map's blocks, up to the empty one that ends it."""
    while count := decoder.read_int():
        if count < 0:
            count = -count
            decoder.skip_int()
        yield count


def _integers(decoder: BinaryDecoder) -> tuple[int, ...]:
    values: list[int] = []
    for count in block_sizes(decoder):
        values.extend(decoder.read_ints(count))
    return tuple(values)


def _integer_pairs(decoder: BinaryDecoder) -> Sequence[int]:
    """A map of integers as key, value, key, value …: statistics are read far more than looked at.

    Most maps are one block, which is not copied.
    """
    values: Any = ()
    while count := decoder.read_int():
        if count < 0:
            count = -count
            decoder.skip_int()
        block = decoder.read_ints(2 * count)
        values = values + block if values else block
    return values  # type: ignore[no-any-return]


def _integer_bytes(decoder: BinaryDecoder) -> dict[int, bytes]:
    pairs: dict[int, bytes] = {}
    while count := decoder.read_int():
        if count < 0:
            count = -count
            decoder.skip_int()
        decoder.read_int_bytes_dict(count, pairs)
    return pairs


def pair_value(pairs: Sequence[int] | None, key: int) -> int | None:
    """The value of a key in a flat map of integers, or None."""
    if not pairs:
        return None
    keys = pairs[::2]
    return pairs[2 * keys.index(key) + 1] if key in keys else None


def _is_integer(avro_type: Any) -> bool:
    name = avro_type["type"] if isinstance(avro_type, dict) else avro_type
    return name in ("int", "long")


_NAN = float("nan")


def _same_nan(value: float) -> float:
    """One NaN for all, so that partitions of NaN are equal: Python compares the object first."""
    return value if value == value else _NAN


def _fixed(avro_type: dict[str, Any]) -> Read:
    size = int(avro_type["size"])
    if avro_type.get("logicalType") == "decimal":
        # The width follows the precision; values must be equal before and after it was raised.
        return lambda decoder: _shortest(decoder.read(size))
    return lambda decoder: decoder.read(size)


def _shortest(number: bytes) -> bytes:
    """A big-endian two's complement number without the bytes that only repeat its sign."""
    value = int.from_bytes(number, "big", signed=True)
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


class TypeCompiler:
    """Compiles the types of one schema; named types are known after their first use."""

    def __init__(self) -> None:
        self._named: dict[str, Read] = {}

    def compile(self, avro_type: Any) -> Read:
        """A function that reads one value of this type."""
        if isinstance(avro_type, list):
            return self._union(avro_type)
        if isinstance(avro_type, str):
            return _PRIMITIVES[avro_type] if avro_type in _PRIMITIVES else self._named[avro_type]
        kind = avro_type["type"]
        if kind == "record":
            return self._record(avro_type)
        if kind == "array":
            return self._array(avro_type["items"])
        if kind == "map":
            return self._map(avro_type["values"])
        if kind == "fixed":
            return self._name(avro_type, _fixed(avro_type))
        return self.compile(kind)

    def _name(self, avro_type: dict[str, Any], read: Read) -> Read:
        self._named[avro_type["name"]] = read
        return read

    def _union(self, branches: list[Any]) -> Read:
        reads = [self.compile(branch) for branch in branches]
        if len(reads) == 2 and branches[0] == "null":
            value = reads[1]
            if _is_integer(branches[1]):
                return lambda decoder: decoder.read_int() if decoder.read_int() else None
            return lambda decoder: value(decoder) if decoder.read_int() else None
        return lambda decoder: reads[decoder.read_int()](decoder)

    def _record(self, avro_type: dict[str, Any]) -> Read:
        reads = [self.compile(field["type"]) for field in avro_type["fields"]]
        return self._name(avro_type, lambda decoder: tuple([read(decoder) for read in reads]))

    def _array(self, items: Any) -> Read:
        if _is_integer(items):
            return _integers
        if isinstance(items, dict) and items.get("type") == "record" and len(items["fields"]) == 2:
            key, value = (field["type"] for field in items["fields"])
            if _is_integer(key) and _is_integer(value):
                return _integer_pairs
            if _is_integer(key) and value == "bytes":
                return _integer_bytes
        read = self.compile(items)
        return lambda decoder: tuple(read(decoder) for count in block_sizes(decoder) for _ in range(count))

    def _map(self, values: Any) -> Read:
        read = self.compile(values)
        return lambda decoder: {
            decoder.read_utf8(): read(decoder) for count in block_sizes(decoder) for _ in range(count)
        }
