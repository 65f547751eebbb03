"""The user's query: which of its tables is the source, and what it does with columns.

The text is never written anew. Tables are exchanged at their places in it; everything else stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from calve.errors import UsageError
from calve.lake.catalogs import split_name
from calve.steps.patterns.rendering.names import quote

_DIALECT = "spark"
# It would tell the log of every statement that it passes over.
logging.getLogger("sqlglot").setLevel(logging.ERROR)
#: What may stand in a query for the source table: `FROM :source`.
MARKERS = ("source", "change")
_HASHES = ("xxhash64(", "hash(")
_BEFORE_TABLE = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.COMMA})


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the source stands in the text; `alias` is what columns may call it, if nothing else says so."""

    start: int
    end: int
    alias: str | None


class Query:
    """A SELECT of the user; `source` are the names of the source. Raises QUERY_INVALID if it is none."""

    def __init__(self, text: str, source: Sequence[str] = ()) -> None:
        self.text = text.strip().rstrip(";").rstrip()
        self._source = source
        self._wanted = [tuple(part.lower() for part in split_name(name)) for name in source]
        try:
            self._tokens = sqlglot.tokenize(self.text, read=_DIALECT)
        except SqlglotError as error:
            raise _invalid(error) from error
        if not self._tokens:
            raise UsageError("QUERY_INVALID", "the query is empty", "write a SELECT into 'query'")

    @cached_property
    def _markers(self) -> tuple[_Place, ...]:
        triples = zip(self._tokens, self._tokens[1:], self._tokens[2:], strict=False)
        return tuple(
            _Place(colon.start, name.end, None)
            for before, colon, name in triples
            if before.token_type in _BEFORE_TABLE and _is_marker(colon, name)
        )

    @cached_property
    def tree(self) -> exp.Expr | None:
        """The parsed query; None where it has a marker and a syntax that is not understood."""
        try:
            parsed = [tree for tree in sqlglot.parse(self.text, read=_DIALECT) if tree is not None]
        except SqlglotError as error:
            if self._markers:
                return None
            raise _invalid(error) from error
        if len(parsed) != 1 or not isinstance(parsed[0], exp.Query):
            found = " and ".join(type(tree).__name__.upper() for tree in parsed) or "nothing"
            raise UsageError(
                "QUERY_INVALID", f"the query is {found}, expected one SELECT", "write one SELECT"
            )
        return parsed[0]

    def reading(self, stand: str) -> str:
        """The query with other SQL in the place of the source.

        Raises SOURCE_NOT_READ if it does not read it, SOURCE_READ_TWICE if it reads it in several places
        without saying which is meant.
        """
        text = self.text
        for place in sorted(self.places(), key=lambda place: -place.start):
            new = stand if place.alias is None else f"{stand} AS {quote(place.alias)}"
            text = text[: place.start] + new + text[place.end + 1 :]
        return text

    def places(self) -> tuple[_Place, ...]:
        """Where the source stands. Raises what `reading` raises."""
        if self._markers:
            return self._markers
        tables = [table for table in self._tables() if is_named(parts_of(table), self._wanted)]
        if not tables:
            raise self._not_read()
        if len(tables) > 1:
            raise UsageError(
                "SOURCE_READ_TWICE",
                f"the query reads {self._source[0]} {len(tables)} times, and one place takes the change",
                "write :source in that place, and the table's name in the others",
            )
        return tuple(_place(table) for table in tables)

    def _tables(self) -> Iterator[exp.Table]:
        if self.tree is None:
            return
        withs = {cte.alias.lower() for cte in self.tree.find_all(exp.CTE)}
        for table in self.tree.find_all(exp.Table):
            parts = parts_of(table)
            travels = table.args.get("version") or table.args.get("when")
            if parts and not travels and not (len(parts) == 1 and parts[0] in withs):
                yield table

    def _not_read(self) -> UsageError:
        source = self._source
        read = ", ".join(dict.fromkeys(".".join(parts_of(table)) for table in self._tables())) or "no table"
        return UsageError(
            "SOURCE_NOT_READ",
            f"the query reads {read}, and not the source {source[0]}",
            f"read {source[0]}, or write :source in its place",
        )

    # What it does with columns

    @cached_property
    def _select(self) -> exp.Select | None:
        tree = self.tree
        while isinstance(tree, exp.Subquery):
            tree = tree.this
        return tree if isinstance(tree, exp.Select) else None

    def passes(self, name: str) -> bool:
        """Whether a column of the result is, for sure, the source's column of that name."""
        select, source = self._select, self._source_table
        if select is None or source is None or select.args.get("laterals"):
            return False
        joined = bool(select.args.get("joins"))
        outputs = [item for item in select.expressions if item.alias_or_name.lower() == name.lower()]
        if outputs:
            return len(outputs) == 1 and _is_column(outputs[0], name, source.alias_or_name, joined)
        return not joined and any(isinstance(item, exp.Star) for item in select.expressions)

    @cached_property
    def _source_table(self) -> exp.Table | None:
        """The source, if the outermost SELECT reads it and no join puts nulls in the place of its rows."""
        select = self._select
        start = None if select is None else select.args.get("from_") or select.args.get("from")
        if select is None or start is None:
            return None
        joins = select.args.get("joins") or []
        found = [start.this, *(join.this for join in joins)]
        mine = [table for table in found if isinstance(table, exp.Table) and self._is_source(table)]
        outer = any(join.side in ("RIGHT", "FULL") for join in joins) or (mine and mine[0] is not found[0])
        return mine[0] if len(mine) == 1 and not outer else None

    def _is_source(self, table: exp.Table) -> bool:
        if self._markers:
            return isinstance(table.this, exp.Placeholder) and table.this.name.lower() in MARKERS
        return is_named(parts_of(table), self._wanted)

    def is_never_null(self, name: str) -> bool:
        """Whether a column of the result is, for sure, never null: a hash, or asked to be there."""
        select = self._select
        if select is None:
            return False
        outputs = [item for item in select.expressions if item.alias_or_name.lower() == name.lower()]
        if len(outputs) == 1 and outputs[0].unalias().sql(dialect=_DIALECT).lower().startswith(_HASHES):
            return True
        where = select.args.get("where")
        return where is not None and self.passes(name) and name.lower() in _not_null(where.this)

    @cached_property
    def outputs(self) -> tuple[str, ...] | None:
        """The columns of the result; None where the text alone does not tell."""
        select = self._select
        if select is None:
            return None
        names = [item.alias_or_name for item in select.expressions]
        if not all(names) or "*" in names or any(item.is_star for item in select.expressions):
            return None
        return tuple(names)

    @property
    def keeps_groups(self) -> bool:
        """Whether a group of the whole shows in the result over any of its rows: nothing tests the groups."""
        tree = self.tree
        if tree is None:
            return False
        kinds = (exp.Having, exp.Limit, exp.Qualify, exp.Window)
        return not any(tree.find_all(*kinds))


def check_expression(text: str, what: str) -> None:
    """Raise QUERY_INVALID unless a text is one SQL expression, which cannot become more in a statement."""
    try:
        tokens = sqlglot.tokenize(text, read=_DIALECT)
        parsed = sqlglot.parse_one(f"SELECT ({text}\n)", read=_DIALECT)
    except SqlglotError as error:
        raise _invalid(error, what) from error
    if not tokens or _leaves_brackets(tokens) or not _is_alone(parsed):
        raise UsageError("QUERY_INVALID", f"{what} is {text!r}, expected one expression", f"correct {what}")


def _is_alone(parsed: exp.Expr) -> bool:
    """Whether a SELECT is of one thing in brackets, which is neither a list nor named."""
    given = {key for key, value in parsed.args.items() if value}
    if not isinstance(parsed, exp.Select) or given != {"expressions"} or len(parsed.expressions) != 1:
        return False
    inner = parsed.expressions[0]
    return isinstance(inner, exp.Subquery) or (
        isinstance(inner, exp.Paren) and not isinstance(inner.this, exp.Alias | exp.Tuple | exp.Star)
    )


def _leaves_brackets(tokens: Sequence[Token]) -> bool:
    """Whether a bracket is closed that the text did not open, a statement ends, or a comment begins."""
    depth = 0
    for token in tokens:
        if token.comments:
            return True
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth < 0 or token.token_type is TokenType.SEMICOLON:
            return True
    return depth != 0


def split_equation(text: str) -> tuple[str, str] | None:
    """`column = expression` as its two sides; None if it is none."""
    try:
        tree = sqlglot.parse_one(text, read=_DIALECT)
    except SqlglotError:
        return None
    if not isinstance(tree, exp.EQ) or not isinstance(tree.this, exp.Column):
        return None
    return tree.this.name, text.split("=", 1)[1].strip()


def _is_marker(colon: Token, name: Token) -> bool:
    together = colon.token_type is TokenType.COLON and colon.end + 1 == name.start
    return together and name.text.lower() in MARKERS


def _is_column(item: exp.Expr, name: str, table: str, joined: bool) -> bool:
    inner = item.this if isinstance(item, exp.Alias) else item
    if not isinstance(inner, exp.Column) or inner.name.lower() != name.lower():
        return False
    return inner.table.lower() == table.lower() if inner.table else not joined


def parts_of(table: exp.Table) -> tuple[str, ...]:
    """The parts of a table's name, in small letters."""
    return tuple(part.name.lower() for part in table.parts if isinstance(part, exp.Identifier))


def is_named(parts: tuple[str, ...], wanted: Sequence[tuple[str, ...]]) -> bool:
    """Whether a name is one of those that are wanted, or the end of one."""
    return bool(parts) and any(name[-len(parts) :] == parts for name in wanted)


def _not_null(condition: exp.Expr) -> set[str]:
    """The columns that a condition holds for only if they are not null."""
    if isinstance(condition, exp.And):
        return _not_null(condition.this) | _not_null(condition.expression)
    inner = condition.this if isinstance(condition, exp.Not) else None
    if (
        isinstance(inner, exp.Is)
        and isinstance(inner.expression, exp.Null)
        and isinstance(inner.this, exp.Column)
    ):
        return {inner.this.name.lower()}
    return set()


def _place(table: exp.Table) -> _Place:
    parts = table.parts
    alias = None if table.alias else parts[-1].name
    return _Place(parts[0].meta["start"], parts[-1].meta["end"], alias)


def _invalid(error: SqlglotError, what: str = "the query") -> UsageError:
    listed = getattr(error, "errors", None) or [{}]
    first = listed[0]
    where = f" at line {first['line']}, column {first['col']}" if first.get("line") else ""
    said = first.get("description") or str(error).splitlines()[0]
    return UsageError(
        "QUERY_INVALID", f"{what} is not SQL{where}: {said}", "correct it; try it in Spark as it stands"
    )
