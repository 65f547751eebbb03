"""What is asked of each table of a capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from calve.errors import UsageError
from calve.lake.catalogs import split_name
from calve.ledger.options import CaptureOptions


@dataclass(frozen=True, slots=True)
class SourceAsk:
    """A table to capture. What is left out is as in the options of the capture; the alias is the
    table's own name, without catalog and namespace."""

    table: str
    branch: str | None = None
    range_columns: tuple[str, ...] = ()
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A table to capture, with everything said: `options` has its own branch and range columns."""

    table: str
    alias: str
    options: CaptureOptions


def resolve_sources(asked: Sequence[str | SourceAsk], options: CaptureOptions) -> tuple[Source, ...]:
    """The tables of a capture. Raises TABLE_MISSING, ALIAS_TAKEN or TABLE_NAME_INVALID."""
    if isinstance(asked, str) or not asked:
        raise UsageError("TABLE_MISSING", "no table is named", "name one or more tables")
    found = tuple(_resolve(SourceAsk(x) if isinstance(x, str) else x, options) for x in asked)
    # A table that is named twice has one alias twice too, and that is what its error should be about.
    different = {(source.table, source.options.branch, source.alias) for source in found}
    taken = [alias for alias, times in Counter(alias for _, _, alias in different).items() if times > 1]
    if taken:
        tables = ", ".join(source.table for source in found if source.alias == taken[0])
        raise UsageError(
            "ALIAS_TAKEN",
            f"the alias {taken[0]!r} is that of several tables: {tables}",
            "give each of them an alias of its own",
        )
    return found


def _resolve(ask: SourceAsk, options: CaptureOptions) -> Source:
    own = replace(
        options,
        branch=ask.branch or options.branch,
        range_columns=tuple(ask.range_columns) or options.range_columns,
    )
    return Source(ask.table, ask.alias or default_alias(ask.table), own)


def default_alias(table: str) -> str:
    """A table's own name, without catalog and namespace."""
    return split_name(table)[-1]
