"""What a PySpark script or function may ask of the step that it runs in."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from calve.errors import UsageError
from calve.spark.once.guard import Guard, Landed
from calve.spark.targets import Write, WriteKind, dotted, parse_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MODES = ("append", "overwrite", "overwrite_partitions", "merge")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_current: list[StepScope] = []


def step_context() -> StepScope:
    """The step that this process runs. Raises STEP_CONTEXT_MISSING outside of one."""
    if not _current:
        raise UsageError(
            "STEP_CONTEXT_MISSING",
            "this process is not a Spark step of Calve",
            "run the script as a step of type Spark, under 'file' or 'main'",
        )
    return _current[0]


def enter_step(scope: StepScope) -> None:
    """Make a step the one of this process."""
    _current[:] = [scope]


@dataclass
class StepScope:
    """A running step: its params, the captures that it runs under, and writes that happen once.

    The n-th write of a step is known by its number, in every attempt: a script that writes in another order,
    or now and then, gives its writes names.
    """

    spark: Any
    params: Mapping[str, Any]
    #: What each capture tells, by the step that took it.
    captures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    say: Callable[[str], None] = print
    guard: Guard | None = None
    _count: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def icdc_table(self) -> str:
        """The table that shows the change, where there is one. Raises CAPTURE_NOT_ONE otherwise."""
        tables = [found.get("icdc_table") for found in self.captures.values() if found.get("icdc_table")]
        if len(tables) != 1:
            raise UsageError(
                "CAPTURE_NOT_ONE",
                f"the step has {len(self.captures)} captures with {len(tables)} tables, expected one",
                "look at `captures`, or pass the table as a param",
            )
        return str(tables[0])

    def write_once(
        self,
        df: DataFrame,
        table: str,
        mode: str = "append",
        *,
        where: str | Column | None = None,
        keys: Sequence[str] = (),
        name: str | None = None,
    ) -> int | None:
        """Write rows, unless an earlier attempt has; the snapshot that has them, if it took one.

        `append` adds; `overwrite` replaces the rows that match `where`, or all; `overwrite_partitions`
        replaces the partitions that the rows are in; `merge` updates by `keys`, and adds what is new.
        """
        if mode not in _MODES:
            raise _wrong(f"the mode is {mode!r}", f"give one of {', '.join(_MODES)}")
        if (mode == "merge") != bool(keys):
            raise _wrong(f"mode {mode} has keys {list(keys)}", "give keys with mode merge, and with no other")
        parts = parse_name(table)
        if mode == "merge":
            return self._merge(df, parts, keys, name)
        write = Write(WriteKind.INSERT if mode == "append" else WriteKind.OVERWRITE, parts)
        return self._once(
            write, f"{mode} {table} {where}", name, lambda marker: _save(df, table, mode, where, marker)
        )

    def sql_once(self, sql: str, *, name: str | None = None) -> int | None:
        """Run a statement that writes a table, unless an earlier attempt has; the snapshot that it made."""
        from calve.spark.targets import write_of

        write = write_of(sql)
        if write is None:
            raise _wrong("the statement writes no table, or more than one", "run it with spark.sql")
        return self._once(write, sql, name, lambda marker: self._run_sql(sql, marker))

    def _merge(
        self, df: DataFrame, parts: tuple[str, ...], keys: Sequence[str], name: str | None
    ) -> int | None:
        view = f"calve_merge_{id(df)}"
        df.createOrReplaceTempView(view)
        matches = " AND ".join(f"t.{dotted((key,))} = s.{dotted((key,))}" for key in keys)
        sql = (
            f"MERGE INTO {dotted(parts)} t USING {view} s ON {matches} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        text = f"merge {dotted(parts)} {matches}"
        try:
            return self._once(
                Write(WriteKind.MERGE, parts), text, name, lambda marker: self._run_sql(sql, marker)
            )
        finally:
            self.spark.catalog.dropTempView(view)

    def _run_sql(self, sql: str, marker: str | None) -> None:
        from calve.spark.once.marking import marked

        if marker is None:
            self.spark.sql(sql)
            return
        with marked(self.spark, marker):
            self.spark.sql(sql)

    def _once(
        self, write: Write, text: str, name: str | None, run: Callable[[str | None], None]
    ) -> int | None:
        with self._lock:
            statement = self._next(name)
            if self.guard is None:
                run(None)
                return None
            verdict = self.guard.check(statement, write, text)
            if isinstance(verdict, Landed):
                self.say(f"write {statement} on {write.table} {verdict.reason}: skipped")
                return verdict.snapshot_id
            run(verdict.marker)
            return None if verdict.marker is None else self.guard.done(verdict, write)

    def _next(self, name: str | None) -> str:
        if name is None:
            self._count += 1
            return str(self._count)
        if not _NAME.fullmatch(name):
            raise _wrong(
                f"the name is {name!r}", "begin with a letter, and use letters, digits, '_', '-' and '.'"
            )
        return name


def _save(df: Any, table: str, mode: str, where: Any, marker: str | None) -> None:
    from pyspark.sql import functions

    from calve.spark.once.marking import WRITER_KEY

    writer = df.writeTo(table)
    if marker is not None:
        writer = writer.option(WRITER_KEY, marker)
    if mode == "append":
        writer.append()
    elif mode == "overwrite_partitions":
        writer.overwritePartitions()
    else:
        condition = functions.lit(True) if where is None else where
        writer.overwrite(functions.expr(condition) if isinstance(condition, str) else condition)


def _wrong(found: str, remedy: str) -> UsageError:
    return UsageError("WRITE_ONCE_INVALID", found, remedy)
