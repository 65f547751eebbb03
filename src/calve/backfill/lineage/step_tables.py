"""The tables of a job, by its type: SQL and patterns say them, other code declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from calve.backfill.lineage.model import Cause, Direction, How
from calve.backfill.lineage.names import Nameless, TableNames
from calve.backfill.lineage.notes import Notes
from calve.backfill.lineage.options import declared
from calve.backfill.lineage.sql import Found, Schemas, ScriptReader
from calve.spark.targets import WriteKind
from calve.steps.contract import StepType
from calve.steps.http import Http
from calve.steps.incremental.commit import IpCommit
from calve.steps.noop import NoOp
from calve.steps.options import READS, WRITES
from calve.steps.patterns.aggregate import IncrementalAggregate
from calve.steps.patterns.append import IncrementalAppend
from calve.steps.patterns.merge import IncrementalMerge
from calve.steps.patterns.publish import WriteAuditPublish
from calve.steps.patterns.range import IncrementalRange
from calve.steps.patterns.step import Pattern
from calve.steps.sleep import Sleep
from calve.steps.spark import Spark
from calve.workflow.definition.steps import TypedStep

#: Types that touch no table by themselves.
_WITHOUT_TABLES = (NoOp, Sleep, Http, IpCommit)
_DECLARATIONS = {Direction.READS: READS, Direction.WRITES: WRITES}
_SPARK_OPTIONS = ("script", "file", "main", "query")
_KINDS: Mapping[str, frozenset[WriteKind]] = {
    IncrementalAppend.name: frozenset({WriteKind.INSERT}),
    IncrementalMerge.name: frozenset({WriteKind.INSERT, WriteKind.MERGE}),
    IncrementalAggregate.name: frozenset({WriteKind.INSERT, WriteKind.MERGE}),
    IncrementalRange.name: frozenset({WriteKind.OVERWRITE}),
}


@dataclass(frozen=True, slots=True)
class StepReader:
    """Notes the tables of one job. `sources` are those that are captured before it, by capture step."""

    step: TypedStep
    type_: StepType | None
    options: Mapping[str, Any]
    names: TableNames
    notes: Notes
    sources: Mapping[str, Mapping[str, str]]
    schemas: Schemas | None = None

    def read(self) -> None:
        """Note what the job reads and writes, and what cannot be told of it."""
        stated = {direction: declared(self.options, name) for direction, name in _DECLARATIONS.items()}
        self._note_declared(stated)
        missing = frozenset(direction for direction, tables in stated.items() if tables is None)
        if isinstance(self.type_, IpCommit):
            self._note_committed()
        elif isinstance(self.type_, Pattern):
            self._read_pattern(missing)
        elif isinstance(self.type_, Spark):
            self._read_spark(missing)
        elif missing and not isinstance(self.type_, _WITHOUT_TABLES):
            self._note_undeclared(missing)

    # What a step declares

    def _note_declared(self, stated: Mapping[Direction, Sequence[str] | None]) -> None:
        for direction, tables in stated.items():
            for name in tables or ():
                found = self.names.find(name)
                if isinstance(found, Nameless):
                    self._gap({direction}, found.cause, found.why)
                elif direction is Direction.READS:
                    how = How.CAPTURE if found.is_change else How.DECLARED
                    self.notes.read(self.step.id, found.table, {how})
                else:
                    by_spark = isinstance(self.type_, Spark)
                    self.notes.write(self.step.id, found.table, How.DECLARED, by_spark=by_spark)

    def _note_committed(self) -> None:
        """Targets that a commit names count where no step of the workflow is known to write them."""
        for name in declared(self.options, "tables") or ():
            found = self.names.find(name)
            if isinstance(found, Nameless):
                self._gap({Direction.WRITES}, found.cause, found.why)
            elif not self.notes.is_written(found.table):
                self.notes.write(self.step.id, found.table, How.DECLARED)

    def _note_undeclared(self, missing: frozenset[Direction]) -> None:
        listed = " and ".join(sorted(direction.value for direction in missing))
        what = f"what a step of type {self.step.type} does is not seen"
        self._gap(missing, Cause.UNDECLARED, f"{what}; give it {listed}")

    # Spark

    def _read_spark(self, missing: frozenset[Direction]) -> None:
        script = self._script()
        if script is None:
            if missing:
                self._note_undeclared(missing)
            return
        self._note_found(self._reader().read_script(script), missing)

    def _script(self) -> str | None:
        """The SQL of a Spark step; None if it runs something else, or what it runs is not known."""
        assert self.type_ is not None
        given = {name: self.options[name] for name in _SPARK_OPTIONS if self.options.get(name) is not None}
        try:
            found = self.type_.options.model_validate(given)
        except ValidationError:
            return None
        script = getattr(found, "script", None)
        return script if isinstance(script, str) else None

    def _reader(self, source: str | None = None) -> ScriptReader:
        return ScriptReader(self.names, self.schemas, source)

    def _note_found(self, found: Found, missing: frozenset[Direction]) -> None:
        if Direction.READS in missing:
            for table, how in found.reads.items():
                self.notes.read(self.step.id, table, how)
        if Direction.WRITES in missing:
            for table, kind, branch in found.writes:
                self.notes.write(self.step.id, table, How.SQL, kinds={kind}, by_spark=True, branch=branch)
        for edge in found.columns:
            self.notes.column(edge)
        for gap in found.gaps:
            if gap.directions & missing:
                self._gap(gap.directions & missing, gap.cause, gap.why)

    # Patterns

    def _read_pattern(self, missing: frozenset[Direction]) -> None:
        target = self._pattern_target(missing)
        source = self._pattern_source()
        query, script = self.options.get("query"), self.options.get("script")
        if isinstance(query, str):
            named = target if self.options.get("by") != "position" else None
            self._note_found(self._reader(source).read_query(query, named), missing & {Direction.READS})
        elif isinstance(script, str) and isinstance(self.type_, WriteAuditPublish):
            self._note_found(self._reader().read_script(script), missing)
        if source is not None and self._reads_source_itself() and Direction.READS in missing:
            self.notes.read(self.step.id, source, {How.PATTERN})
        self._read_audits(target, missing & {Direction.READS})

    def _pattern_target(self, missing: frozenset[Direction]) -> str | None:
        found = self.names.find(str(self.options.get("target", "")))
        if isinstance(found, Nameless):
            self._gap({Direction.WRITES}, found.cause, f"target: {found.why}")
            return None
        if Direction.WRITES in missing:
            kinds = _KINDS.get(self._pattern_name(), frozenset())
            self.notes.write(self.step.id, found.table, How.PATTERN, kinds=kinds, by_spark=True)
        return found.table

    def _pattern_name(self) -> str:
        if isinstance(self.type_, WriteAuditPublish):
            return str(self.options.get("pattern", ""))
        return "" if self.type_ is None else self.type_.name

    def _pattern_source(self) -> str | None:
        """The table whose change the pattern processes; None if that is not told."""
        stated = self.options.get("capture_step")
        captures = [found for step_id, found in self.sources.items() if stated in (None, step_id)]
        if len(captures) != 1:
            return None
        wanted = self.options.get("source")
        full = {alias: self.names.stand_ins.changed_table(word) for alias, word in captures[0].items()}
        asked = None if wanted is None else self.names.find(str(wanted))
        table = getattr(asked, "table", None)
        chosen = [name for alias, name in full.items() if wanted in (None, alias) or (name and name == table)]
        return chosen[0] if len(chosen) == 1 else None

    def _reads_source_itself(self) -> bool:
        """Whether the pattern reads more of the source than its change: whole groups, or the whole range."""
        name = self._pattern_name()
        if name == IncrementalAggregate.name:
            return not self.options.get("additive")
        return name == IncrementalRange.name

    def _read_audits(self, target: str | None, missing: frozenset[Direction]) -> None:
        audits = self.options.get("audits")
        for query in audits.values() if isinstance(audits, Mapping) else ():
            found = self._reader().read_query(str(query))
            # An audit looks at what was just written: that makes the target no source.
            found.reads.pop(target or "", None)
            self._note_found(found, missing)

    def _gap(self, directions: frozenset[Direction] | set[Direction], cause: Cause, why: str) -> None:
        self.notes.unknown(self.step.id, directions, cause, why)
