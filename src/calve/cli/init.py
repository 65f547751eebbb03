"""`calve init`: a home with settings and an embedded lake, and a first project around it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli.output import JsonOption, emit
from calve.cli.project import project_files, refuse_taken, write_project
from calve.errors import UsageError
from calve.settings import EMBEDDED_CATALOG, EMBEDDED_PROPERTIES, SETTINGS_FILE, Settings, load_settings

if TYPE_CHECKING:
    from rich.console import Console

_HEADER = """\
# The settings of Calve. The environment goes above them: CALVE_ICDC__TTL=3d is [icdc] ttl = "3d".
# A catalog takes PyIceberg's properties. Keep secrets out of this file: "${NAME}" stands for a
# variable of the environment, and key_file = "/path" for a key whose value is in that file.
"""
_NEXT = """\
next:
  cd {folder}
  calve push workflows
  calve dev                        # leave it running; then, in a second terminal:
  calve run watch_source --wait    # data arrives, and watch_daily runs by itself
README.md says more"""


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(help="Also write a first project into this folder.", show_default=False),
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option("--home", help="Where to make it.  [default: $CALVE_HOME or FOLDER/.calve]"),
    ] = None,
    spark: Annotated[bool, typer.Option("--spark", help="The project processes its data in Spark.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Make a home: its settings, and a lake in it that needs no server. What is there already stays.

    With a folder, also write a project that runs as it is: a workflow that processes what changed, its SQL, a
    source of data and a test.

    Example: calve init my_project
    """
    if spark and folder is None:
        raise UsageError(
            "USAGE", "--spark is about a project", "name its folder: calve init my_project --spark"
        )
    texts = {} if folder is None else project_files("spark" if spark else "python")
    target = folder or Path()
    refuse_taken(target, texts)
    settings, created = _make_home(home or Path(os.environ.get("CALVE_HOME") or target / ".calve"))
    write_project(target, texts)
    written = [str(place) for place in texts]

    def render(console: Console) -> None:
        if folder is not None:
            console.print(f"wrote {folder}: {', '.join(written)}")
        console.print(f"{'made' if created else 'found'} {settings.home}")
        console.print(f"catalogs: {', '.join(sorted(settings.catalogs))}")
        if folder is None:
            console.print("a Spark of your own joins with: spark-sql $(calve spark-conf --format args)")
        else:
            console.print(_NEXT.format(folder=folder), markup=False)

    value = {
        "home": str(settings.home),
        "settings": str(settings.home / SETTINGS_FILE),
        "catalogs": sorted(settings.catalogs),
        "created": created,
    }
    if folder is not None:
        value |= {"project": str(folder.absolute()), "files": written}
    emit(value, json_output, render)


def _make_home(place: Path) -> tuple[Settings, bool]:
    """The settings of a home, and whether its file is new."""
    settings = load_settings(place)
    file = settings.ensure_home() / SETTINGS_FILE
    created = not file.exists()
    if created:
        _write_new(file, _HEADER + _embedded_table())
        # What is in the home is data and state of this machine, not source.
        _write_new(settings.home / ".gitignore", "*\n")
    settings = load_settings(place)
    _make_local_catalogs(settings)
    return settings, created


def _embedded_table() -> str:
    lines = [f'{key} = "{value}"' for key, value in EMBEDDED_PROPERTIES.items()]
    return "\n".join(["", f"[catalogs.{EMBEDDED_CATALOG}]", *lines, ""])


def _write_new(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        # Another init was here first; what it wrote stays.
        return


def _make_local_catalogs(settings: Settings) -> None:
    from calve.lake.catalogs import Lake

    lake = Lake(settings)
    for name in settings.catalogs:
        properties = settings.catalog_properties(name)
        if properties.get("uri", "").startswith("sqlite"):
            lake.catalog(name)
        if properties.get("warehouse", "").startswith("file://"):
            Path(properties["warehouse"].removeprefix("file://")).mkdir(parents=True, exist_ok=True)
