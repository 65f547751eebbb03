"""Random histories of a small table: every kind of commit that an Iceberg table can see."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from support.lake_table import LakeTable

Step = Callable[["History"], None]
STEPS: dict[str, Step] = {}


class InapplicableError(Exception):
    """The step cannot be done in the table's present state."""


def step(function: Step) -> Step:
    """Make a function a kind of commit, under its own name."""
    STEPS[function.__name__] = function
    return function


@dataclass
class History:
    """A table whose history is being made, step by step, by a seeded source of chance."""

    table: LakeTable
    chance: random.Random
    done: list[str] = field(default_factory=list)
    names: int = 0

    def run(self, kind: str) -> bool:
        """Take a step; False if the table is not in a state for it."""
        try:
            STEPS[kind](self)
        except InapplicableError:
            return False
        self.done.append(kind)
        return True

    # What steps need to know

    @property
    def raw(self) -> Any:
        """The table's metadata."""
        return self.table.source.metadata.raw

    @property
    def version(self) -> int:
        """The format version."""
        return int(self.raw["format-version"])

    @property
    def columns(self) -> dict[str, Any]:
        """The current columns and their types."""
        schema = self.table.source.metadata.schemas[self.raw["current-schema-id"]]
        return {column["name"]: column["type"] for column in schema["fields"]}

    @property
    def spare_columns(self) -> list[str]:
        """Columns that no step relies on and that no partition is made from."""
        spec_sources = {f["source-id"] for spec in self.raw["partition-specs"] for f in spec["fields"]}
        schema = self.table.source.metadata.schemas[self.raw["current-schema-id"]]
        fixed = {"id", "part", "at"}
        return [c["name"] for c in schema["fields"] if c["name"] not in fixed and c["id"] not in spec_sources]

    def new_name(self, stem: str) -> str:
        """A name that was not used yet."""
        self.names += 1
        return f"{stem}{self.names}"

    def values(self, count: int) -> str:
        """Rows for the current columns, as SQL. Ids repeat, so that rows meet each other."""
        rows = [
            ", ".join(self._value(name, kind) for name, kind in self.columns.items()) for _ in range(count)
        ]
        return "VALUES " + ", ".join(f"({row})" for row in rows)

    def _value(self, name: str, kind: Any) -> str:
        chance = self.chance
        if name == "id":
            return f"{chance.randrange(30)}L"
        if name == "part":
            return str(chance.randrange(3))
        if name == "at":
            return f"TIMESTAMP '2024-01-0{chance.randrange(1, 4)} 1{chance.randrange(10)}:00:00'"
        if chance.random() < 0.15:
            return f"CAST(NULL AS {_sql_type(kind)})"
        if kind == "string":
            return f"'{chance.choice('abcd')}'"
        return f"CAST({chance.randrange(5)} AS {_sql_type(kind)})"

    def ids(self) -> str:
        """A condition that hits some rows."""
        return f"id % {self.chance.choice([2, 3, 4])} = {self.chance.randrange(2)}"

    def require(self, condition: object) -> None:
        """Give the step up where the condition does not hold."""
        if not condition:
            raise InapplicableError


def _sql_type(kind: str) -> str:
    return {"long": "bigint", "timestamptz": "timestamp"}.get(kind, kind)
