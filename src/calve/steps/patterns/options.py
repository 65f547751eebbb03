"""What the patterns understand, and what of it can be told to be wrong before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from calve.errors import UsageError
from calve.settings import parse_duration
from calve.steps.patterns.rendering.additive import is_way
from calve.steps.patterns.rendering.names import is_plain
from calve.steps.patterns.rendering.query import Query, check_expression, split_equation
from calve.steps.spark_spec import SessionOptions

_DIRECTION = re.compile(r"(?:\s+(?:ASC|DESC))?(?:\s+NULLS\s+(?:FIRST|LAST))?\s*$", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"-?\d+")


def _listed(value: Any) -> Any:
    """A list, or names with commas between them."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def _order(value: Any) -> Any:
    return [value] if isinstance(value, str) and "(" in value else _listed(value)


def _mapped(value: Any) -> Any:
    """A map, or names that each stand for themselves."""
    found = _listed(value)
    return {name: name for name in found} if isinstance(found, list) else found


def _keyed(value: Any) -> Any:
    """A map of keys to expressions, or keys alone."""
    found = _listed(value)
    return dict.fromkeys(found) if isinstance(found, list) else found


def _ways(value: Any) -> Any:
    """A map of columns to the way they are added to, or columns that are summed."""
    found = _listed(value)
    return dict.fromkeys(found, "sum") if isinstance(found, list) else found


def _context(value: Any) -> Any:
    """`all`, a number, or a duration."""
    if isinstance(value, str) and value.strip().lower() == "all":
        return "all"
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        return int(value)
    return parse_duration(value) if isinstance(value, str) else value


def _name(value: str) -> str:
    if not is_plain(value):
        raise ValueError(f"found {value!r}; expected the name of a column: letters, digits and _")
    return value


def _query(value: str) -> str:
    return _checked(value, lambda: Query(value).tree)


def _expression(value: str) -> str:
    return _checked(value, lambda: check_expression(value, "the expression"))


def _term(value: str) -> str:
    """A column or an expression that rows are ordered by."""
    _expression(_DIRECTION.sub("", value))
    return value


def _way(value: str) -> str:
    return value if is_way(value) else _expression(value)


def _equation(value: str) -> str:
    if split_equation(value) is None:
        raise ValueError(f"found {value!r}; expected 'column = literal'")
    return _expression(value)


def _checked(value: str, check: Any) -> str:
    try:
        check()
    except UsageError as error:
        raise ValueError(error.message) from error
    return value


Name = Annotated[str, AfterValidator(_name)]
QueryText = Annotated[str, AfterValidator(_query)]
Expression = Annotated[str, AfterValidator(_expression)]
Names = Annotated[list[Name], BeforeValidator(_listed), Field(min_length=1)]
Keys = Annotated[dict[Name, Expression | None], BeforeValidator(_keyed), Field(min_length=1)]
Columns = Annotated[dict[Name, Name], BeforeValidator(_mapped)]


class PatternOptions(SessionOptions):
    """What all patterns understand: what is written where, under which capture, in which Spark."""

    #: The table that is written.
    target: str = Field(min_length=1)
    #: The capture step whose change is processed. If it is not set, the only one of the run.
    capture_step: str | None = None
    #: Which of its source tables the query reads, by alias or name, if there are several.
    source: str | None = None

    @property
    def stated_columns(self) -> Mapping[str, str]:
        """Columns of the target that are said to be columns of the source."""
        return {}


class AppendOptions(PatternOptions):
    """IncrementalAppend."""

    section: ClassVar[str | None] = "incremental_append"

    #: Your SELECT over the source; it reads the change in its place.
    query: QueryText
    #: How columns of the query find those of the target.
    by: Literal["name", "position"] = "name"


class PrunedOptions(PatternOptions):
    """Of patterns that look into the target."""

    #: Columns of the target in which a key never moves, so that other partitions need not be looked at; a map
    #: names the column of the source for each.
    partition_column: Columns = Field(default_factory=dict)
    #: True: everything in one MERGE, and so in one snapshot, at the price of a shuffle.
    atomic: bool = False

    @property
    def stated_columns(self) -> Mapping[str, str]:
        """Columns of the target that a key never changes."""
        return self.partition_column


class MergeOptions(PrunedOptions):
    """IncrementalMerge."""

    section: ClassVar[str | None] = "incremental_merge"

    #: Your SELECT over the source; it reads the change in its place.
    query: QueryText
    #: Columns that tell rows of the target apart.
    keys: Names
    #: Which row of a key counts: the first in this order, such as `event_ts DESC`.
    order_by: Annotated[list[Annotated[str, AfterValidator(_term)]], BeforeValidator(_order)] = Field(
        default_factory=list
    )
    #: A further condition for updates, over `t` (target) and `s` (change).
    update_when: Expression | None = None
    #: A condition over `s`: such a row deletes its key.
    delete_when: Expression | None = None
    #: ignore: what the target has stays, only new keys are inserted.
    when_matched: Literal["update", "ignore"] = "update"
    #: unique: the source has each key once. Only matters where rows are taken away.
    source_keys: Literal["unique", "repeated"] = "repeated"
    #: Columns that rows are looked up by in the place of `keys`, such as a hash of a long key.
    match_on: Annotated[list[Name], BeforeValidator(_listed)] = Field(default_factory=list)
    #: rare: few keys come again within a change, and `order_by` is one column, which is never null and
    #: different in all rows of a key.
    repeats: Literal["any", "rare"] = "any"


class AggregateOptions(PrunedOptions):
    """IncrementalAggregate."""

    section: ClassVar[str | None] = "incremental_aggregate"

    #: Your SELECT over the source, with its GROUP BY.
    query: QueryText
    #: What the query groups by; a map gives each key as an expression over the source.
    keys: Keys
    #: `column = literal`: the part of the target that is overwritten as a whole.
    current: Annotated[str, AfterValidator(_equation)] | None = None
    #: Columns that are added to, and how: `sum`, `min`, `max`, `theta`, `hll`, or an expression over `t` and
    #: `s`.
    additive: Annotated[dict[Name, Annotated[str, AfterValidator(_way)]], BeforeValidator(_ways)] = Field(
        default_factory=dict
    )
    #: With `additive`: the count of rows, so that a group without rows is deleted.
    count_column: Name | None = None

    @model_validator(mode="after")
    def _additions_land_once(self) -> Self:
        if self.additive and self.exactly_once is False:
            raise ValueError("additive with exactly_once: false would add again what a retry repeats")
        return self


class RangeOptions(PatternOptions):
    """IncrementalRange."""

    section: ClassVar[str | None] = "incremental_range"

    #: Your SELECT over the source; it reads it from the earliest affected point on.
    query: QueryText
    #: The column of the source that orders its rows; one of the capture's `range_columns`.
    range_column: Name
    #: The target's column of it, if it has another name, or is the date of it.
    target_range_column: Name | None = None
    #: How much the query has to see of the time before.
    context_before: Annotated[timedelta | int | Literal["all"] | None, BeforeValidator(_context)] = None
