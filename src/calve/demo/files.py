"""Where the workflows of the demo are: with the package, or in the examples of a clone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

_PACKAGED = "playback"
_IN_A_CLONE = Path(__file__).parents[3] / "examples" / "playback"


def playback_folder() -> Path:
    """The folder of the playback pipeline: YAML and SQL."""
    packaged = Path(str(files("calve.demo").joinpath(_PACKAGED)))
    return packaged if packaged.is_dir() else _IN_A_CLONE


def own_folder() -> Path:
    """The folder of the workflows that bring data and compare results."""
    return Path(str(files("calve.demo").joinpath("workflows")))
