"""A lake in a temporary folder, and captures on it."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calve.lake import ChangeRequest, Changes, Lake, Mode, Segment, open_table, plan_changes, write_changes
from calve.settings import Settings, load_settings


@dataclass(frozen=True)
class Bench:
    """A lake to measure on."""

    settings: Settings
    lake: Lake
    _salts: Iterator[int]

    def capture(self, table: str, mode: Mode, start: int | None, end: int, **options: Any) -> Changes:
        """Everything that a capture does, from the table's name to the registered ICDC table.

        Each one gets names of its own, so that none finds the files of an earlier one.
        """
        source = open_table(self.lake, table)
        salt = f"bench-{next(self._salts)}"
        request = ChangeRequest(mode, (Segment(start, end),), salt=salt, **options)
        return write_changes(plan_changes(source, request), self.settings.icdc)


@contextmanager
def temporary_lake() -> Iterator[Bench]:
    """A lake that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="calve-bench-") as folder:
        yield open_lake(Path(folder))


def open_lake(home: Path) -> Bench:
    """The lake of a folder."""
    settings = load_settings(home)
    return Bench(settings, Lake(settings), itertools.count())
