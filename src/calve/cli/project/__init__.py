"""The project that `calve init FOLDER` writes: its files, and putting them in place.

`common` has what every project gets, `python` and `spark` what the two kinds have beside it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from calve.errors import UsageError

#: Files that cannot have their own names among the sources of Calve.
_RENAMED = {"gitignore.txt": ".gitignore"}
_NO_SOURCES = "__pycache__"


def project_files(kind: str) -> dict[Path, str]:
    """The texts of a project by where they go in its folder. `kind` is `python` or `spark`."""
    found: dict[Path, str] = {}
    for part in ("common", kind):
        folder = Path(str(files("calve.cli.project").joinpath(part)))
        for file in sorted(folder.rglob("*")):
            place = file.relative_to(folder)
            if file.is_file() and _NO_SOURCES not in place.parts:
                found[place.with_name(_RENAMED.get(place.name, place.name))] = file.read_text("utf-8")
    return found


def refuse_taken(folder: Path, places: Iterable[Path]) -> None:
    """What is there is never written over. Raises PROJECT_EXISTS."""
    taken = sorted(str(place) for place in places if os.path.lexists(folder / place))
    if taken:
        raise UsageError(
            "PROJECT_EXISTS",
            f"{folder} has {', '.join(taken)} already",
            "choose another folder, or move these files away",
        )


def write_project(folder: Path, texts: Mapping[Path, str]) -> None:
    """Write files into a folder, which is made if it is not there. Raises PROJECT_NOT_WRITABLE."""
    for place, text in texts.items():
        file = folder / place
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            raise UsageError(
                "PROJECT_NOT_WRITABLE",
                f"{file} cannot be written: {error.strerror}",
                "choose a folder that you may write to",
            ) from error
