"""Listing and removing Calve's own folders, through the same file system that wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow.fs as pafs
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file and when it was last written."""

    location: str
    modified: datetime | None


def _file_system(io: FileIO, location: str) -> tuple[pafs.FileSystem, str, str]:
    """The file system of a location, the path in it, and what stands before the path."""
    arrow = io if isinstance(io, PyArrowFileIO) else PyArrowFileIO(io.properties)
    scheme, netloc, path = PyArrowFileIO.parse_location(location, arrow.properties)
    system = arrow.fs_by_scheme(scheme, netloc)
    prefix = location.removesuffix(path) if location.endswith(path) else f"{scheme}://"
    return system, path, prefix


def list_files(io: FileIO, folder: str) -> Iterator[StoredFile]:
    """All files below a folder; none if it is not there."""
    system, path, prefix = _file_system(io, folder)
    selector = pafs.FileSelector(path, allow_not_found=True, recursive=True)
    for info in system.get_file_info(selector):
        if info.type == pafs.FileType.File:
            yield StoredFile(prefix + info.path, info.mtime)


def delete_folder(io: FileIO, folder: str) -> None:
    """Remove a folder and all below it; fine if it is not there."""
    system, path, _ = _file_system(io, folder)
    if system.get_file_info(path).type == pafs.FileType.Directory:
        system.delete_dir(path)
