"""`calve init`: a home with settings and an embedded lake."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli.output import JsonOption, emit
from calve.settings import EMBEDDED_CATALOG, EMBEDDED_PROPERTIES, SETTINGS_FILE, Settings, load_settings

if TYPE_CHECKING:
    from rich.console import Console

_HEADER = """\
# The settings of Calve. The environment goes above them: CALVE_ICDC__TTL=3d is [icdc] ttl = "3d".
# A catalog takes PyIceberg's properties. Keep secrets out of this file: "${NAME}" stands for a
# variable of the environment, and key_file = "/path" for a key whose value is in that file.
"""


def init(
    home: Annotated[
        Path | None, typer.Option("--home", help="Where to make it.  [default: $CALVE_HOME or ./.calve]")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Make a home: its settings, and a lake in it that needs no server. What is there already stays."""
    place = home or Path(os.environ.get("CALVE_HOME") or ".calve")
    settings = load_settings(place)
    file = settings.ensure_home() / SETTINGS_FILE
    created = not file.exists()
    if created:
        _write_new(file, _HEADER + _embedded_table())
        # What is in the home is data and state of this machine, not source.
        _write_new(settings.home / ".gitignore", "*\n")
    settings = load_settings(place)
    _make_local_catalogs(settings)

    def render(console: Console) -> None:
        console.print(f"{'made' if created else 'found'} {settings.home}")
        console.print(f"catalogs: {', '.join(sorted(settings.catalogs))}")
        console.print("a Spark of your own joins with: spark-sql $(calve spark-conf --format args)")

    value = {
        "home": str(settings.home),
        "settings": str(file),
        "catalogs": sorted(settings.catalogs),
        "created": created,
    }
    emit(value, json_output, render)


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
