"""Reading and writing whole metadata files, wherever the table's FileIO finds them."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pydantic_core import from_json
from pyiceberg.io import FileIO

from calve.errors import CorruptError, UsageError
from calve.lake.manifest import Manifest, open_manifest
from calve.lake.manifest_list import ManifestFile, read_manifest_list
from calve.lake.retry import call

Parsed = TypeVar("Parsed")
_THREADS = 16
_LOCAL = ("file:", "/")
_UNREACHABLE = "STORAGE_UNREACHABLE"


def is_local(location: str) -> bool:
    """Whether a location is on a disk of this machine."""
    return location.startswith(_LOCAL)


def read_bytes(io: FileIO, location: str) -> bytes:
    """A whole file. Raises CorruptError where it is gone, UnreachableError where storage is down."""

    def read() -> bytes:
        with io.new_input(location).open() as stream:
            return stream.read()

    try:
        return call(read, location, _UNREACHABLE)
    except FileNotFoundError as missing:
        raise CorruptError(
            "METADATA_MISSING",
            f"{location} does not exist, though the table's metadata refers to it",
            "it may have expired meanwhile; capture again, or restore the file",
        ) from missing
    except PermissionError as refused:
        raise UsageError(
            "FILE_NOT_READABLE",
            f"{location} may not be read: {refused}",
            "ask for read access to the table's files",
        ) from refused


def write_bytes(io: FileIO, location: str, data: bytes) -> None:
    """Write a whole file, in place of one that may be there from an earlier try."""

    def write() -> None:
        with io.new_output(location).create(overwrite=True) as stream:
            stream.write(data)

    try:
        call(write, location, _UNREACHABLE)
    except PermissionError as refused:
        raise UsageError(
            "FILE_NOT_WRITABLE",
            f"{location} may not be written: {refused}",
            "set icdc.location in calve.toml to a place that may be written",
        ) from refused


def read_json(io: FileIO, location: str) -> Any:
    """A JSON file, also a gzipped one."""
    data = read_bytes(io, location)
    return _parse(location, lambda: from_json(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data))


def _parse(location: str, parse: Callable[[], Parsed]) -> Parsed:
    try:
        return parse()
    except Exception as damage:  # a damaged file can fail in any way a decoder knows
        raise CorruptError.damaged(location, damage) from damage


def load_manifest_list(io: FileIO, location: str) -> list[ManifestFile]:
    """The manifests of a snapshot."""
    data = read_bytes(io, location)
    return _parse(location, lambda: read_manifest_list(data))


def load_manifest(io: FileIO, file: ManifestFile) -> Manifest:
    """One manifest; its entries are decoded when they are iterated."""
    data = read_bytes(io, file.path)
    if len(data) < file.length:
        # Cut at the end of a block it would still parse, and show fewer files than there are.
        cut = ValueError(f"it has {len(data)} bytes of {file.length}")
        raise CorruptError.damaged(file.path, cut)
    return _parse(file.path, lambda: open_manifest(file, data))


def map_files(load: Callable[[Any], Parsed], items: Iterable[Any], sample: str) -> Iterator[Parsed]:
    """`load` over all items in order; side by side where `sample` shows that storage is remote."""
    listed = list(items)
    if len(listed) < 2 or is_local(sample):
        yield from map(load, listed)
        return
    # A sliding window: remote latency overlaps, and only a few files are in memory at once.
    with ThreadPoolExecutor(_THREADS) as pool:
        for start in range(0, len(listed), _THREADS):
            yield from pool.map(load, listed[start : start + _THREADS])


def load_manifests(io: FileIO, files: Iterable[ManifestFile]) -> Iterator[Manifest]:
    """Manifests in order, fetched side by side from remote storage."""
    listed = list(files)
    sample = listed[0].path if listed else ""
    return map_files(lambda file: load_manifest(io, file), listed, sample)
