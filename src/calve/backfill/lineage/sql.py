"""What the SQL of a step reads and writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.errors import SqlglotError

from calve.backfill.lineage.assignments import Assigned, assignments, by_name
from calve.backfill.lineage.columns import Tracer
from calve.backfill.lineage.model import Cause, ColumnEdge, Direction, How
from calve.backfill.lineage.names import Named, Nameless, TableNames
from calve.backfill.lineage.parsing import (
    Views,
    columns_stated,
    inserts_of,
    parse_statement,
    tables_in,
    to_sql,
)
from calve.spark.statements import Statement, split_statements
from calve.spark.targets import Write, WriteKind, parse_name, write_of
from calve.steps.patterns.rendering.query import MARKERS

#: The columns of a table by its full name; None if they are not known.
Schemas = Callable[[str], Sequence[str] | None]
#: Statements that manage tables and sessions: whatever their syntax, no rows go from one table to another.
_MANAGING = re.compile(
    r"\s*(ADD|ALTER|ANALYZE|CALL|CLEAR|COMMENT|DECLARE|DESC|DESCRIBE|DROP|EXPLAIN|GRANT|LIST|MSCK|OPTIMIZE|REFRESH"
    r"|RESET|REVOKE|SET|SHOW|UNCACHE|USE|VACUUM)\b",
    re.IGNORECASE,
)
_ONLY_READS = re.compile(r"[\s(]*(SELECT|VALUES|TABLE)\b", re.IGNORECASE)
_BOTH = frozenset(Direction)
_READS = frozenset({Direction.READS})
_WRITES = frozenset({Direction.WRITES})


@dataclass(frozen=True, slots=True)
class Gap:
    """What of a script could not be told."""

    directions: frozenset[Direction]
    cause: Cause
    why: str


@dataclass(slots=True)
class Found:
    """What is known of a script."""

    reads: dict[str, set[How]] = field(default_factory=dict)
    writes: list[tuple[str, WriteKind, str | None]] = field(default_factory=list)
    columns: dict[ColumnEdge, None] = field(default_factory=dict)
    gaps: dict[Gap, None] = field(default_factory=dict)


class ScriptReader:
    """Reads the statements of one step in their order; `source` is what `:source` stands for in a pattern."""

    def __init__(self, names: TableNames, schemas: Schemas | None = None, source: str | None = None) -> None:
        self.found = Found()
        self._names = names
        self._schemas = schemas or (lambda table: None)
        self._source = source
        self._views = Views()
        self._made: dict[str, tuple[str, ...]] = {}

    def read_script(self, script: str) -> Found:
        """All statements of a script."""
        for statement in split_statements(script):
            self._read(statement)
        return self.found

    def read_query(self, query: str, target: str | None = None) -> Found:
        """A query, whose columns go to the columns of their names in `target`."""
        tree = parse_statement(query)
        if not isinstance(tree, exp.Query):
            self._note_unread(query, _READS)
            return self.found
        self._note_reads(tree, None)
        if target is not None:
            self._note_columns(lambda: by_name(tree, self._tracer()), target)
        return self.found

    def _read(self, statement: Statement) -> None:
        tree = parse_statement(statement.text)
        if tree is None or isinstance(tree, exp.Command):
            self._read_opaque(statement.text)
        elif isinstance(tree, exp.Condition | exp.Alias):
            # No statement, so a word for one that only a run knows.
            self._note_unread(statement.text, _BOTH)
        elif isinstance(tree, exp.Use):
            self._use(statement.text)
        elif (stated := columns_stated(tree)) is not None:
            self._note_made(*stated)
        elif isinstance(tree, exp.MultitableInserts):
            for insert in inserts_of(tree):
                self._read_tree(insert, write_of(to_sql(insert)))
        elif not self._views.add(tree):
            self._read_tree(tree, None if isinstance(tree, exp.Query) else write_of(statement.text))

    def _read_opaque(self, text: str) -> None:
        write = write_of(text)
        if write is not None:
            self._note_write(write, write.kind)
        if not _MANAGING.match(text):
            reads_only = write is not None or _ONLY_READS.match(text)
            self._note_unread(text, _READS if reads_only else _BOTH)

    def _use(self, text: str) -> None:
        words = text.split(None, 1)
        named = re.sub(r"^(NAMESPACE|DATABASE|SCHEMA|CATALOG)\s+", "", words[-1], flags=re.IGNORECASE)
        self._names.use(parse_name(named))

    def _read_tree(self, tree: exp.Expr, write: Write | None) -> None:
        if write is None and not isinstance(tree, exp.Query):
            return
        whole = self._views.put_in(tree)
        target_node = None if write is None else _target(whole)
        self._note_reads(whole, target_node)
        if write is None:
            return
        replaces = isinstance(tree, exp.Insert) and tree.args.get("where") is not None
        target = self._note_write(write, WriteKind.OVERWRITE if replaces else write.kind)
        if target is not None:
            columns = self._columns(target)
            self._note_columns(lambda: assignments(whole, self._tracer(), columns), target)

    # Tables

    def _find(self, table: exp.Table) -> Named | Nameless | None:
        """The table of a node; None for what is no table: a function, a list of values."""
        match table.this:
            case exp.Placeholder() if self._source is not None and table.name.lower() in MARKERS:
                return Named(self._source, is_change=True)
            case exp.Anonymous() if table.this.name.upper() == "IDENTIFIER":
                given = table.this.expressions
                if len(given) == 1 and isinstance(given[0], exp.Literal):
                    return self._names.find_parts(parse_name(given[0].name))
                return Nameless(Cause.SCRIPT, "IDENTIFIER(…) of what is no text")
            case exp.Identifier() | exp.Dot():
                return self._names.find_parts(tuple(part.name for part in table.parts))
        return None

    def _note_reads(self, tree: exp.Expr, target: exp.Expr | None) -> None:
        for table in tables_in(tree):
            if table is target:
                continue
            hidden = self._names.stand_ins.params_in(table.alias)
            found = self._find(table)
            if isinstance(found, Named):
                # A pattern reads the change where its query names the source.
                change = found.is_change or found.table == self._source
                how = How.CAPTURE if change and not self._marks_source(tree, found) else How.SQL
                self.found.reads.setdefault(found.table, set()).add(how)
            elif found is not None:
                self._note_gap(_READS, found.cause, found.why)
            if hidden:
                self._note_gap(_READS, Cause.PARAM, f"SQL from {', '.join(hidden)} stands beside a table")

    def _marks_source(self, tree: exp.Expr, found: Named) -> bool:
        """Whether the change is read at a marker, so that the source's name means the source itself."""
        marked = any(isinstance(table.this, exp.Placeholder) for table in tree.find_all(exp.Table))
        return marked and not found.is_change

    def _note_write(self, write: Write, kind: WriteKind) -> str | None:
        parts = write.parts if write.branch is None else write.parts[:-1]
        found = self._names.find_parts(parts)
        if isinstance(found, Nameless):
            self._note_gap(_WRITES, found.cause, found.why)
            return None
        self.found.writes.append((found.table, kind, write.branch))
        return found.table

    def _note_unread(self, text: str, directions: frozenset[Direction]) -> None:
        params = self._names.stand_ins.params_in(text)
        shown = self._names.stand_ins.tell(Statement(text, 1).shorten(60))
        if params:
            listed = ", ".join(params)
            self._note_gap(directions, Cause.PARAM, f"{listed} is known only when the workflow runs: {shown}")
        else:
            self._note_gap(directions, Cause.SCRIPT, f"not understood: {shown}")

    def _note_gap(self, directions: frozenset[Direction], cause: Cause, why: str) -> None:
        self.found.gaps[Gap(directions, cause, why)] = None

    # Columns

    def _note_made(self, table: exp.Table, columns: tuple[str, ...]) -> None:
        found = self._find(table)
        if isinstance(found, Named):
            self._made[found.table] = columns

    def _columns(self, table: str) -> Sequence[str] | None:
        return self._schemas(table) or self._made.get(table)

    def _tracer(self) -> Tracer:
        return Tracer(self._columns_of, lambda name: bool(self._names.stand_ins.params_in(name)))

    def _columns_of(self, table: exp.Table) -> Sequence[str] | None:
        found = self._find(table)
        return self._columns(found.table) if isinstance(found, Named) else None

    def _note_columns(self, trace: Callable[[], Sequence[Assigned]], target: str) -> None:
        try:
            assigned = [(name, list(origins)) for name, origins in trace()]
        except (SqlglotError, RecursionError):
            # The tables are known all the same; Spark decides what is SQL.
            return
        for name, origins in assigned:
            for table, column in origins:
                found = self._find(table)
                if isinstance(found, Named) and found.table != target:
                    self.found.columns[ColumnEdge(found.table, column, target, name)] = None


def _target(tree: exp.Expr) -> exp.Expr:
    node: exp.Expr = tree.this
    return node.this if isinstance(node, exp.Schema) else node
