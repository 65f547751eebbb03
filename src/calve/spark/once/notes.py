"""What a step's process writes down of its writes, for the engine: in the folder of the attempt."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from calve.spark.files import read_json, write_json

WRITES_FILE = "writes.json"


@dataclass(frozen=True, slots=True)
class Note:
    """A statement that was about to write. `snapshot_id` None: it is not known to have landed."""

    target: str
    text_hash: str
    begun_ms: int
    snapshot_id: int | None = None
    landed_ms: int | None = None
    #: True if an earlier attempt wrote it, and this one found it.
    found: bool = False


@dataclass
class Notes:
    """The notes of an attempt, by the number or name of the statement; whole in the file at any moment."""

    folder: Path
    notes: dict[str, Note] = field(default_factory=dict)

    def begin(self, statement: str, target: str, text_hash: str) -> None:
        """The statement is about to write."""
        self._put(statement, Note(target, text_hash, _now_ms()))

    def land(self, statement: str, snapshot_id: int) -> None:
        """It has landed."""
        begun = self.notes[statement]
        self._put(statement, replace(begun, snapshot_id=snapshot_id, landed_ms=_now_ms()))

    def find(self, statement: str, target: str, text_hash: str, snapshot_id: int) -> None:
        """An earlier attempt has written it."""
        now = _now_ms()
        self._put(statement, Note(target, text_hash, now, snapshot_id, now, found=True))

    def forget(self) -> None:
        """What was written is gone: all of it has to be written again."""
        self.notes.clear()
        write_json(self.folder / WRITES_FILE, {})

    def _put(self, statement: str, note: Note) -> None:
        self.notes[statement] = note
        write_json(self.folder / WRITES_FILE, {name: asdict(found) for name, found in self.notes.items()})


def read_notes(folder: Path) -> Mapping[str, Note]:
    """The notes in the folder of an attempt."""
    document = read_json(folder / WRITES_FILE) or {}
    return {statement: Note(**found) for statement, found in document.items()}


def hash_text(text: str) -> str:
    """A statement's text, as far as a change of it is told by; how it is laid out does not count."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:32]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
