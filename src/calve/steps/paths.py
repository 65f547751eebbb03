"""Where jobs run, and where the relative paths in their params lead."""

from __future__ import annotations

from pathlib import Path

from calve.settings import StepSettings


def base_directory(settings: StepSettings) -> Path:
    """What relative paths of a job begin at."""
    return (settings.directory or Path()).expanduser().absolute()


def working_directory(settings: StepSettings, cwd: str | None) -> Path | None:
    """The directory that a job asks for, or else that of the settings; None for one of its own."""
    if cwd:
        return base_directory(settings) / Path(cwd).expanduser()
    return None if settings.directory is None else base_directory(settings)
