"""Each write of a step under captures once: skipped if it has landed, marked and noted if not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from calve.spark.once.landing import Noted, TableState, find_landed
from calve.spark.once.notes import Notes, hash_text
from calve.spark.once.scope import Scope
from calve.spark.once.tables import NotIcebergError, Tables
from calve.spark.targets import Write

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Landed:
    """A statement that need not run; `snapshot_id` None: a later one on the same table has landed."""

    snapshot_id: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Pass:
    """A statement that is to run; `marker` is None if its table keeps no marks."""

    statement: str
    marker: str | None


@dataclass
class Guard:
    """Keeps the writes of one attempt. `may_have_landed` false spares the look: nothing can be there."""

    scope: Scope
    tables: Tables
    notes: Notes
    say: Say
    noted: Mapping[str, Noted] = field(default_factory=dict)
    may_have_landed: bool = True
    #: All writes of a script, by statement, in order: a later one tells of those before it.
    script: Mapping[str, Write] = field(default_factory=dict)
    wap_branch: str | None = None

    def check(self, statement: str, write: Write, text: str) -> Landed | Pass:
        """Whether a statement has landed. If not, it is noted as begun."""
        try:
            state = self.tables.state(_table_parts(write)) if self.may_have_landed else None
        except NotIcebergError:
            return self._unprotected(statement, write)
        text_hash = hash_text(text)
        found = None if state is None else self._landed(state, statement, write)
        if state is not None and found is not None:
            self._warn_of_change(statement, text_hash)
            if found.snapshot_id is not None:
                self.notes.find(statement, state.name, text_hash, found.snapshot_id)
            return found
        self.notes.begin(statement, self.tables.full_name(_table_parts(write)), text_hash)
        return Pass(statement, self.scope.marker(statement))

    def done(self, passed: Pass, write: Write) -> int | None:
        """A statement has run: note the snapshot that it made, if it made one."""
        try:
            state = self.tables.state(_table_parts(write))
        except NotIcebergError:
            self._unprotected(passed.statement, write)
            return None
        landed = self._find(state, passed.statement, write)
        if landed is not None:
            self.notes.land(passed.statement, landed)
        return landed

    @contextmanager
    def unless_landed(self, spark: Any, statement: str, write: Write, text: str) -> Iterator[Landed | Pass]:
        """Run the block under the marker, unless it gets `Landed`."""
        from calve.spark.once.marking import marked

        verdict = self.check(statement, write, text)
        if isinstance(verdict, Landed) or verdict.marker is None:
            yield verdict
            return
        with marked(spark, verdict.marker):
            yield verdict
        self.done(verdict, write)

    def _landed(self, state: TableState, statement: str, write: Write) -> Landed | None:
        own = self._find(state, statement, write)
        if own is not None:
            return Landed(own, f"has landed in snapshot {own}")
        later = self._later(state, statement, write)
        # What came after it is in the table: to repeat it now would undo that.
        return None if later is None else Landed(None, f"came before statement {later}, which has landed")

    def _later(self, state: TableState, statement: str, write: Write) -> str | None:
        order = list(self.script)
        following = order[order.index(statement) + 1 :] if statement in order else []
        for name in following:
            other = self.script[name]
            if other.table == write.table and self._find(state, name, other) is not None:
                return name
        return None

    def _find(self, state: TableState | None, statement: str, write: Write) -> int | None:
        branches = [branch for branch in (write.branch, self.wap_branch) if branch is not None]
        return find_landed(state, self.scope, statement, self.noted.get(statement), branches)

    def _warn_of_change(self, statement: str, text_hash: str) -> None:
        noted = self.noted.get(statement)
        if noted is not None and noted.text_hash != text_hash:
            self.say(
                f"calve: statement {statement} has another text now than the one that has landed, and is "
                "skipped all the same; 'exactly_once: false' on the step runs it"
            )

    def _unprotected(self, statement: str, write: Write) -> Pass:
        self.say(
            f"calve: {write.table} is no Iceberg table and keeps no marks: statement {statement} runs again "
            "if the step does"
        )
        return Pass(statement, None)


def _table_parts(write: Write) -> tuple[str, ...]:
    return write.parts if write.branch is None else write.parts[:-1]
