"""Write the reference pages; what is there already is written over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tools.reference import cli, definition, rest, settings, steps

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli.make,
    "definition.md": definition.make,
    "rest.md": rest.make,
    "settings.md": settings.make,
    "steps.md": steps.make,
}


def main() -> None:
    """All pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
