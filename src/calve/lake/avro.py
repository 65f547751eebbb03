"""Avro container files, as far as Iceberg's manifests need them.

Reading hands out one decoder per block, so that a caller can note the byte span of a record and
copy it without decoding it; writing takes records that are encoded already.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pyiceberg.avro.codecs import KNOWN_CODECS
from pyiceberg.avro.decoder import BinaryDecoder, new_decoder

MAGIC = b"Obj\x01"
SYNC_SIZE = 16
BLOCK_BYTES = 256 * 1024


def encode_long(value: int) -> bytes:
    """Zigzag variable-length encoding, as Avro has for int and long."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest & ~0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def encode_bytes(value: bytes) -> bytes:
    """A length and the bytes, as Avro has for bytes and string."""
    return encode_long(len(value)) + value


@dataclass(frozen=True, slots=True)
class Block:
    """The decompressed bytes of one block and how many records they hold."""

    count: int
    data: bytes

    def decoder(self) -> BinaryDecoder:
        """A decoder that stands at the first record."""
        return new_decoder(self.data)

    def check_end(self, decoder: BinaryDecoder) -> None:
        """Raise ValueError if the records that were read are not all there is, or more than that."""
        if decoder.tell() != len(self.data):
            raise ValueError("a block's records do not end where the block ends")


@dataclass(frozen=True, slots=True)
class Container:
    """An Avro file in memory: its header, and where its blocks begin."""

    metadata: Mapping[str, bytes]
    sync: bytes
    body: int
    data: bytes

    @property
    def schema(self) -> dict[str, Any]:
        """The schema that the records were written with."""
        parsed: dict[str, Any] = json.loads(self.metadata["avro.schema"])
        return parsed

    def blocks(self) -> Iterator[Block]:
        """The blocks in order. Raises ValueError where the file is damaged."""
        codec = self.metadata.get("avro.codec", b"null").decode()
        if codec not in KNOWN_CODECS:
            raise ValueError(f"unknown Avro codec {codec!r}")
        decompress = KNOWN_CODECS[codec]
        position, end = self.body, len(self.data)
        while position < end:
            head = new_decoder(self.data[position : position + 20])
            count, size = head.read_int(), head.read_int()
            start = position + head.tell()
            position = start + size + SYNC_SIZE
            if size < 0 or count < 0 or self.data[start + size : position] != self.sync:
                raise ValueError("a block does not end in the file's sync marker")
            packed = self.data[start : start + size]
            yield Block(count, packed if decompress is None else decompress.decompress(packed))


def open_container(data: bytes) -> Container:
    """Parse the header of an Avro file. Raises ValueError where it is none."""
    if data[:4] != MAGIC:
        raise ValueError("not an Avro file")
    decoder = new_decoder(data)
    decoder.skip(4)
    metadata: dict[str, bytes] = {}
    while count := decoder.read_int():
        if count < 0:
            count = -count
            decoder.skip_int()
        for _ in range(count):
            key = decoder.read_utf8()
            metadata[key] = decoder.read_bytes()
    sync = decoder.read(SYNC_SIZE)
    # The decoder does not mind the end of its bytes.
    if decoder.tell() > len(data):
        raise ValueError("the file ends within its header")
    return Container(metadata, sync, decoder.tell(), data)


class ContainerWriter:
    """Collects encoded records into a container file in memory, deflated unless that is unwanted.

    The same header and records give the same bytes, so that a retry writes the same file.
    """

    def __init__(
        self, schema: Mapping[str, Any], metadata: Mapping[str, bytes], deflated: bool = True
    ) -> None:
        header = {
            **{k: v for k, v in metadata.items() if not k.startswith("avro.")},
            "avro.schema": json.dumps(schema, separators=(",", ":")).encode(),
            "avro.codec": b"deflate" if deflated else b"null",
        }
        body = encode_long(len(header))
        body += b"".join(encode_bytes(k.encode()) + encode_bytes(v) for k, v in header.items())
        self._sync = sha256(body).digest()[:SYNC_SIZE]
        self._out = io.BytesIO()
        self._out.write(MAGIC + body + b"\x00" + self._sync)
        self._deflated = deflated
        self._records: list[bytes] = []
        self._pending = 0

    def append(self, *parts: bytes) -> None:
        """Add one record, given as consecutive pieces of its encoding."""
        record = b"".join(parts)
        self._records.append(record)
        self._pending += len(record)
        if self._pending >= BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._records:
            return
        packed = b"".join(self._records)
        if self._deflated:
            # Level 1: manifests compress well at any level, and capture time is what users wait for.
            packer = zlib.compressobj(1, zlib.DEFLATED, -15)
            packed = packer.compress(packed) + packer.flush()
        self._out.write(encode_long(len(self._records)) + encode_long(len(packed)) + packed + self._sync)
        self._records.clear()
        self._pending = 0

    def finish(self) -> bytes:
        """The whole file."""
        self._flush()
        return self._out.getvalue()
