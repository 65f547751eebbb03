"""Which table a SQL statement writes."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_BRANCH_PREFIX = "branch_"
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_NAME = rf"(?P<name>{_PART}(?:\s*\.\s*{_PART})*)"
_LITERAL = r"IDENTIFIER\s*\(\s*'(?P<literal>[^']+)'\s*\)"
_TARGET = rf"(?:{_LITERAL}|(?!IDENTIFIER\s*\(){_NAME})"
_EVOLVING = r"(?:WITH\s+SCHEMA\s+EVOLUTION\s+)?"
_INSERT = rf"INSERT\s+{_EVOLVING}(?P<how>INTO|OVERWRITE)\s+(?!(?:LOCAL\s+)?DIRECTORY\b)(?:TABLE\s+)?{_TARGET}"


class WriteKind(StrEnum):
    """What a statement does to its target."""

    INSERT = "insert"
    OVERWRITE = "overwrite"
    MERGE = "merge"
    UPDATE = "update"
    DELETE = "delete"
    TRUNCATE = "truncate"
    #: The table and its rows in one: `CREATE TABLE … AS SELECT`, `REPLACE TABLE … AS SELECT`.
    CREATE = "create"


@dataclass(frozen=True, slots=True)
class Write:
    """A statement's target, by the parts of the name as it stands in the text."""

    kind: WriteKind
    parts: tuple[str, ...]

    @property
    def branch(self) -> str | None:
        """The branch that is written, where the name says so: `t.branch_audit`."""
        last = self.parts[-1]
        named = len(self.parts) > 1 and last.startswith(_BRANCH_PREFIX)
        return last.removeprefix(_BRANCH_PREFIX) if named else None

    @property
    def table(self) -> str:
        """The name of the table, without the branch."""
        return dotted(self.parts if self.branch is None else self.parts[:-1])


def dotted(parts: tuple[str, ...]) -> str:
    """A name as SQL takes it: quoted where it has to be."""
    return ".".join(x if _PLAIN_NAME.fullmatch(x) else "`" + x.replace("`", "``") + "`" for x in parts)


def target_of(sql: str) -> str | None:
    """The table that a statement writes, by the name in its text; None if it writes none."""
    write = write_of(sql)
    return None if write is None else write.table


def write_of(sql: str) -> Write | None:
    """What a statement writes. None for one that writes nothing, or more than one table."""
    try:
        found = _parsed(sql)
    except Exception:  # noqa: BLE001  whatever the parser makes of it: Spark decides what is SQL
        return _by_first_words(sql)
    return _by_first_words(sql) if isinstance(found, _Unclear) else found


class _Unclear:
    """The parser has read the statement, and does not tell its target."""


def _parsed(sql: str) -> Write | _Unclear | None:
    import sqlglot
    from sqlglot import exp

    # It would tell the log of every statement that it passes over.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    statement: Any = sqlglot.parse_one(sql, dialect="spark")
    match statement:
        case exp.Insert():
            kind = WriteKind.OVERWRITE if statement.args.get("overwrite") else WriteKind.INSERT
            return _of(kind, statement.this)
        case exp.Merge():
            return _of(WriteKind.MERGE, statement.this)
        case exp.Update():
            return _of(WriteKind.UPDATE, statement.this)
        case exp.Delete():
            return _of(WriteKind.DELETE, statement.this)
        case exp.Create() if statement.kind == "TABLE" and statement.expression is not None:
            return _of(WriteKind.CREATE, statement.this)
        case exp.TruncateTable() | exp.MultitableInserts() | exp.Command():
            return _Unclear()
    return None


def _of(kind: WriteKind, target: Any) -> Write | _Unclear:
    from sqlglot import exp

    table = target.this if isinstance(target, exp.Schema) else target
    if not isinstance(table, exp.Table) or not all(isinstance(x, exp.Identifier) for x in table.parts):
        return _Unclear()
    parts = tuple(part.name for part in table.parts)
    # A function to Spark, and to the parser a table with a column.
    return _Unclear() if parts[-1].upper() == "IDENTIFIER" else Write(kind, parts)


_FIRST_WORDS = (
    (WriteKind.MERGE, re.compile(rf"\s*MERGE\s+{_EVOLVING}INTO\s+{_TARGET}", re.IGNORECASE)),
    (WriteKind.UPDATE, re.compile(rf"\s*UPDATE\s+{_TARGET}", re.IGNORECASE)),
    (WriteKind.DELETE, re.compile(rf"\s*DELETE\s+FROM\s+{_TARGET}", re.IGNORECASE)),
    (WriteKind.TRUNCATE, re.compile(rf"\s*TRUNCATE\s+TABLE\s+{_TARGET}", re.IGNORECASE)),
    (
        WriteKind.CREATE,
        re.compile(
            rf"\s*(?:CREATE\s+(?:OR\s+REPLACE\s+)?|REPLACE\s+)TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_TARGET}"
            r".*?\bAS\s*(?:SELECT|WITH|FROM|TABLE|VALUES|\()",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
)
_INSERTS = re.compile(_INSERT, re.IGNORECASE)
_MAY_INSERT = re.compile(r"\s*(?:INSERT|WITH|FROM)\b", re.IGNORECASE)
_NAME_PART = re.compile(_PART)


def _by_first_words(sql: str) -> Write | None:
    for kind, pattern in _FIRST_WORDS:
        if found := pattern.match(sql):
            return Write(kind, _parts(found))
    inserts = list(_INSERTS.finditer(sql)) if _MAY_INSERT.match(sql) else []
    if len(inserts) != 1:
        return None
    how = inserts[0]["how"].upper()
    return Write(WriteKind.INSERT if how == "INTO" else WriteKind.OVERWRITE, _parts(inserts[0]))


def _parts(found: re.Match[str]) -> tuple[str, ...]:
    return parse_name(found["name"] or found["literal"])


def parse_name(name: str) -> tuple[str, ...]:
    """The parts of a name as SQL writes it."""
    parts = _NAME_PART.findall(name)
    return tuple(x[1:-1].replace("``", "`") if x.startswith("`") else x for x in parts)
