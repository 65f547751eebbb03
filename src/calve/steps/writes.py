"""What a Spark step writes, between its process and the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import Connection

from calve.errors import CalveError
from calve.ledger.ledger import Ledger
from calve.ledger.records import Status
from calve.ledger.transact import require_capture
from calve.ledger.writes import hold_capture, note_begun, note_landed
from calve.spark.once.landing import Noted
from calve.spark.once.notes import Note, hash_text, read_notes
from calve.spark.once.plan import OncePlan
from calve.spark.once.scope import Scope
from calve.spark.statements import split_statements
from calve.spark.step.spec import SPEC_FILE, StepSpec
from calve.spark.targets import Write, write_of
from calve.steps.contract import StepContext
from calve.steps.incremental.naming import owner_of
from calve.steps.incremental.scope import StepCaptures, captures_of_step
from calve.steps.incremental.shared import ledger_of


def plan_writes(context: StepContext, script: str | None) -> OncePlan | None:
    """What the process of an attempt has to know of its captures; None if there are none.

    From here on the ledger knows that the step writes: nobody else gets its captures unnoticed.
    """
    if context.run == 0:
        return None
    ledger = ledger_of(context.settings)
    with ledger.database.read() as connection:
        if captures_of_step(connection, context) is None:
            return None
    record_earlier(context)
    texts = {} if script is None else texts_of(script)
    writes = {name: write for name, text in texts.items() if (write := write_of(text)) is not None}
    with ledger.database.write() as connection:
        found = captures_of_step(connection, context)
        if found is None:
            return None
        _hold(connection, context, found)
        _note_script(connection, ledger, found, {name: (writes[name], texts[name]) for name in writes})
    is_known = (context.place / SPEC_FILE).exists()
    return OncePlan(
        scope=found.scope,
        noted=_noted(found),
        may_have_landed=is_known or script is None or not found.is_new,
        script=writes,
        captures=found.told,
    )


def record_writes(context: StepContext) -> Mapping[str, Note]:
    """Bring what the process of an attempt has noted into the ledger; the notes."""
    return _record(context, context.place)


def record_earlier(context: StepContext) -> None:
    """The same for the attempts before this one: an engine may have died before it did so."""
    for number in range(1, context.attempt_id):
        _record(context, context.place.parent / str(number))


def texts_of(script: str) -> dict[str, str]:
    """The statements of a script, by number."""
    return {str(number): found.text for number, found in enumerate(split_statements(script), 1)}


def _noted(found: StepCaptures) -> dict[str, Noted]:
    """What the ledger knows of each statement; that it has landed, if it knows so under any capture."""
    noted: dict[str, Noted] = {}
    for held in found.held:
        for write in held.writes:
            statement = write.statement.removeprefix(f"{held.path}/")
            if statement not in noted or write.snapshot_id is not None:
                noted[statement] = Noted(write.text_hash, write.snapshot_id, write.landed_at)
    return noted


def _hold(connection: Connection, context: StepContext, found: StepCaptures) -> None:
    """Say which run is at work under the captures, so that nobody who found them abandoned takes them."""
    at_work = owner_of(context.workflow_id, context.instance_id, context.run_id)
    for held in found.held:
        if held.record.status is Status.OPEN:
            hold_capture(connection, held.record.id, held.record.run_ref, at_work)


def _note_script(
    connection: Connection, ledger: Ledger, found: StepCaptures, script: Mapping[str, tuple[Write, str]]
) -> None:
    """Note the writes of a script before it begins, as far as their targets' names are whole."""
    for statement, (write, text) in script.items():
        target = full_name(ledger, write.table)
        if target is None:
            continue
        names = found.scope.names(statement)
        for held in found.held:
            if held.record.status is Status.OPEN:
                name = names[held.record.id]
                note_begun(connection, held.record.id, name, target, hash_text(text), held.record.run_ref)


def full_name(ledger: Ledger, name: str) -> str | None:
    """A name as the lake has it; None where only Spark can tell which table that is."""
    try:
        return str(ledger.lake.resolve(name))
    except CalveError:
        return None


def _record(context: StepContext, place: Path) -> Mapping[str, Note]:
    notes = read_notes(place)
    spec = StepSpec.read(place / SPEC_FILE) if notes else None
    if spec is None or spec.once is None:
        return notes
    scope = Scope.of(spec.once["scope"])
    ledger = ledger_of(context.settings)
    known = {name: note for name, note in notes.items() if full_name(ledger, note.target) is not None}
    with ledger.database.write() as connection:
        _note_all(connection, scope, known)
    return notes


def _note_all(connection: Connection, scope: Scope, notes: Mapping[str, Note]) -> None:
    for capture_id in scope.captures:
        # Nothing begins under one that has ended; what had begun before may still turn out to have landed.
        is_open = require_capture(connection, capture_id).status is Status.OPEN
        for statement, note in notes.items():
            name = scope.names(statement)[capture_id]
            if is_open:
                note_begun(connection, capture_id, name, note.target, note.text_hash)
            if note.snapshot_id is not None:
                # What an earlier attempt wrote may have had another text than it has now.
                text_hash = None if note.found else note.text_hash
                note_landed(connection, capture_id, name, note.snapshot_id, text_hash)
