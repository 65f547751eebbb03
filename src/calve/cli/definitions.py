"""Workflow files on disk: which there are, and the definitions in them, with the texts that they include."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from calve.errors import CalveError, NotFoundError, RefusedError, UnreachableError, UsageError
from calve.workflow.definition import DEFAULT_TYPES, JobTypes, Loaded, load_json, load_yaml
from calve.workflow.definition.inclusion import INCLUDED_SIZE_LIMIT
from calve.workflow.definition.sources.limits import SIZE_LIMIT

YAML_SUFFIXES = (".yaml", ".yml")
SUFFIXES = (*YAML_SUFFIXES, ".json")


def workflow_files(paths: Iterable[Path]) -> list[Path]:
    """The files that are named, and those with a fitting suffix in the folders that are named."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
            found += [file for file in inside if not _is_hidden(file.relative_to(path))]
        elif path.is_file():
            found.append(path)
        else:
            raise NotFoundError("FILE_NOT_FOUND", f"there is no file '{path}'", "Check the path.")
    if not found:
        raise NotFoundError(
            "FILE_NOT_FOUND",
            "there is no workflow file",
            "Name a file, or a folder with " + ", ".join(SUFFIXES),
        )
    return list(dict.fromkeys(found))


def load_file(path: Path, types: JobTypes = DEFAULT_TYPES) -> Loaded:
    """The definition in a file; InvalidDefinitionError with every problem in it."""
    text = _read_text(path, SIZE_LIMIT)
    load = load_yaml if path.suffix in YAML_SUFFIXES else load_json
    return load(text, file=str(path), types=types, files=FolderReader(path.parent))


class FolderReader:
    """Reads the texts that a workflow includes: files of its own folder, and objects by their address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def read_file(self, path: str) -> str:
        """The text of a file below the folder, whatever links lead to it."""
        file = (self._folder / path).resolve()
        if not file.is_relative_to(self._folder):
            raise RefusedError(
                "INCLUDE_OUTSIDE", f"'{path}' leads out of the folder", "Copy the file into it."
            )
        if not file.is_file():
            raise NotFoundError("INCLUDE_NOT_FOUND", "there is no such file", f"Put it into {self._folder}.")
        return _read_text(file, INCLUDED_SIZE_LIMIT)

    def read_object(self, url: str) -> str:
        """The text of an object, with the credentials of the environment."""
        import fsspec

        try:
            with fsspec.open(url, "rb") as stream:
                return _decoded(stream.read(INCLUDED_SIZE_LIMIT + 1), url, INCLUDED_SIZE_LIMIT)
        except CalveError:
            raise
        except ImportError as error:
            raise UsageError(
                "INCLUDE_UNAVAILABLE", str(error), "Install the package that it names."
            ) from error
        except FileNotFoundError as error:
            raise NotFoundError(
                "INCLUDE_NOT_FOUND", "there is no such object", "Check the address."
            ) from error
        except Exception as error:  # each storage has errors of its own; all of them mean the same here
            raise UnreachableError(
                "INCLUDE_UNREACHABLE",
                f"{type(error).__name__}: {error}",
                "Check the address and the credentials.",
            ) from error


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _read_text(path: Path, limit: int) -> str:
    with path.open("rb") as stream:
        return _decoded(stream.read(limit + 1), str(path), limit)


def _decoded(content: bytes, name: str, limit: int) -> str:
    """The text of what was read: one byte past the limit is enough to know that it is too big."""
    if len(content) > limit:
        raise UsageError(
            "FILE_TOO_BIG",
            f"'{name}' has more than {limit:,} bytes",
            "Split it, or move long scripts to files.",
        )
    try:
        return content.decode("utf-8-sig", errors="strict")
    except UnicodeDecodeError as error:
        raise UsageError("FILE_NOT_TEXT", f"'{name}' is not UTF-8: {error}", "Save it as UTF-8.") from error
