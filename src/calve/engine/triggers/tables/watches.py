"""What a trigger looks at: tables, and for each of them the consumers whose lag counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from calve.errors import CalveError
from calve.lake.catalogs import Lake, TableName
from calve.lake.locating import try_resolve
from calve.lake.model import Operation
from calve.steps.incremental.naming import consumer_of
from calve.workflow.definition.captures import CaptureSource, capture_sources
from calve.workflow.definition.incremental import IncrementalTrigger
from calve.workflow.definition.model import Workflow

MAIN = "main"
_ALL = frozenset({Operation.APPEND, Operation.OVERWRITE, Operation.DELETE})


@dataclass(frozen=True, slots=True)
class Watch:
    """A branch of a table, and who captures it. `name` is an error where the table's name means nothing."""

    table: str
    name: TableName | CalveError
    branch: str
    consumer: str | None
    operations: frozenset[Operation]

    @property
    def key(self) -> str:
        """The branch of the table, as the trigger keeps it."""
        return f"{self.table}@{self.branch}"


def watches_of(workflow: Workflow, trigger: IncrementalTrigger, lake: Lake) -> tuple[Watch, ...]:
    """What a trigger of a workflow looks at."""
    sources = [(try_resolve(lake, source.table), source) for source in capture_sources(workflow)]
    if trigger.tables is None:
        named = list(dict.fromkeys(_Named(source.table, name) for name, source in sources))
    else:
        named = [_Named(table, try_resolve(lake, table)) for table in dict.fromkeys(trigger.tables)]
    found: dict[Watch, None] = {}
    for table in named:
        captured = [source for name, source in sources if name == table.name]
        found |= dict.fromkeys(_watches(workflow.id, trigger, table, captured))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Named:
    written: str
    name: TableName | CalveError

    @property
    def table(self) -> str:
        return str(self.name) if isinstance(self.name, TableName) else self.written


def _watches(
    workflow_id: str, trigger: IncrementalTrigger, named: _Named, captured: list[CaptureSource]
) -> Iterator[Watch]:
    stated = frozenset(Operation(name.value) for name in trigger.data_operations)
    if not captured:
        yield Watch(named.table, named.name, MAIN, None, stated or _ALL)
    for source in captured:
        consumer = source.consumer or consumer_of(workflow_id, source.step_id)
        taken = frozenset(Operation(name) for name in source.operations if name in set(Operation))
        yield Watch(named.table, named.name, source.branch or MAIN, consumer, stated or taken or _ALL)
