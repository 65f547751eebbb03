"""What a Spark step has written, as its end tells it: in its artifacts, and as signals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from calve.errors import CalveError
from calve.lake import open_table
from calve.ledger.ledger import Ledger
from calve.spark.once.notes import Note
from calve.spark.targets import write_of
from calve.steps.contract import Finished, SignalToSend, StepContext
from calve.steps.incremental.shared import ledger_of
from calve.steps.table_signals import SNAPSHOT_ID, table_signal
from calve.steps.writes import full_name, texts_of

ARTIFACT = "writes"


def with_writes(finished: Finished, notes: Mapping[str, Note], *, is_visible: bool = True) -> Finished:
    """The end of an attempt, with what it wrote, and the signals that say so, unless that is on a branch."""
    landed = {name: note for name, note in notes.items() if note.snapshot_id is not None}
    if not landed:
        return finished
    written = [
        {
            "statement": name,
            "target": note.target,
            "snapshot_id": note.snapshot_id,
            "by_earlier_attempt": note.found,
        }
        for name, note in landed.items()
    ]
    newest = {note.target: note.snapshot_id for note in landed.values() if note.snapshot_id is not None}
    artifacts = {**finished.artifacts, ARTIFACT: written}
    signals = _signals(newest) if is_visible else ()
    return replace(finished, artifacts=artifacts, signals=(*finished.signals, *signals))


def with_script(finished: Finished, context: StepContext, script: str) -> Finished:
    """The end of a script that ran under no capture, with signals for the tables that it wrote."""
    return replace(finished, signals=(*finished.signals, *_signals(_written_by(context, script))))


def _signals(newest: Mapping[str, int]) -> Iterable[SignalToSend]:
    return (SignalToSend(table_signal(name), {SNAPSHOT_ID: key}) for name, key in newest.items())


def _written_by(context: StepContext, script: str) -> dict[str, int]:
    """The tables that a script writes, with their newest snapshots."""
    ledger = ledger_of(context.settings)
    targets = [write.table for text in texts_of(script).values() if (write := write_of(text)) is not None]
    names = dict.fromkeys(name for x in targets if (name := full_name(ledger, x)) is not None)
    return {name: key for name in names if (key := _head(ledger, name)) is not None}


def _head(ledger: Ledger, name: str) -> int | None:
    try:
        return open_table(ledger.lake, name).metadata.current_snapshot_id("main")
    except CalveError:
        # Dropped since, or out of reach: whoever waits for it finds out by polling.
        return None
