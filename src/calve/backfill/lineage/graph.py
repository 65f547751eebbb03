"""The graph of all workflows and their tables: what comes before and after, and in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

from calve.backfill.lineage.model import ColumnEdge, WorkflowTables
from calve.errors import NotFoundError, UsageError
from calve.workflow.definition.problems import nearest


@dataclass(frozen=True, slots=True)
class Reach:
    """What lies on one side of a table or a workflow; itself is not in it unless a way leads back to it."""

    tables: tuple[str, ...]
    workflows: tuple[str, ...]


class Lineage:
    """All workflows with their tables. A name is a workflow's id or a table's full name."""

    def __init__(self, workflows: Iterable[WorkflowTables]) -> None:
        self._workflows: Mapping[str, WorkflowTables] = {
            found.workflow_id: found for found in sorted(workflows, key=lambda x: x.workflow_id)
        }

    @property
    def workflows(self) -> Mapping[str, WorkflowTables]:
        """The workflows by id, in the order of their ids."""
        return self._workflows

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """All tables that any workflow reads or writes, in the order of their names."""
        return tuple(sorted({*self._readers, *self._writers}))

    def workflow(self, workflow_id: str) -> WorkflowTables:
        """A workflow. Raises WORKFLOW_NOT_FOUND with the nearest name."""
        found = self._workflows.get(workflow_id)
        if found is None:
            message = f"there is no workflow '{workflow_id}'"
            raise _not_found("WORKFLOW_NOT_FOUND", message, workflow_id, self._workflows)
        return found

    def table(self, table: str) -> str:
        """A table that some workflow reads or writes. Raises TABLE_NOT_IN_LINEAGE with the nearest name."""
        if table not in self._readers and table not in self._writers:
            message = f"no pushed workflow reads or writes a table {table}"
            raise _not_found("TABLE_NOT_IN_LINEAGE", message, table, self.tables)
        return table

    def readers(self, table: str) -> tuple[str, ...]:
        """The workflows that read a table, those that capture its changes among them."""
        return self._readers.get(table, ())

    def writers(self, table: str) -> tuple[str, ...]:
        """The workflows that write a table."""
        return self._writers.get(table, ())

    def callers(self, workflow_id: str) -> tuple[str, ...]:
        """The workflows that start a workflow as a step of theirs."""
        return self._callers.get(workflow_id, ())

    def called(self, workflow_id: str) -> tuple[WorkflowTables, ...]:
        """The workflows that a workflow starts as steps, and those that these start; itself is not in it."""
        found: dict[str, WorkflowTables] = {}
        waiting = [workflow_id]
        while waiting:
            for call in self.workflow(waiting.pop()).calls:
                known = self._workflows.get(call.workflow_id)
                if known is not None and known.workflow_id not in (*found, workflow_id):
                    found[known.workflow_id] = known
                    waiting.append(known.workflow_id)
        return tuple(found.values())

    def upstream(self, name: str) -> Reach:
        """All that a table or a workflow is made from, however far."""
        return self._reach(name, self._before)

    def downstream(self, name: str) -> Reach:
        """All that is made from a table, or from what a workflow writes, however far."""
        return self._reach(name, self._after)

    def following(self, workflow_id: str) -> tuple[str, ...]:
        """The workflows that read what this one writes, or that it calls: one step downstream."""
        own = self.workflow(workflow_id)
        found = {reader for table in own.written_names for reader in self.readers(table)}
        found |= {call.workflow_id for call in own.calls if call.workflow_id in self._workflows}
        return tuple(sorted(found - {workflow_id}))

    def order(self, workflow_ids: Iterable[str]) -> tuple[str, ...]:
        """The workflows so that each comes after all that it is made from, by whatever way.

        Raises LINEAGE_CYCLE where there is no such order: two of them are made from each other.
        """
        asked = sorted(set(workflow_ids))
        before: dict[str, set[str]] = {workflow_id: set() for workflow_id in asked}
        for workflow_id in asked:
            for reached in self.downstream(workflow_id).workflows:
                if reached in before and reached != workflow_id:
                    before[reached].add(workflow_id)
        try:
            return tuple(_sorted(before))
        except CycleError as error:
            raise _cycle(error.args[1]) from error

    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """The workflows that are made from each other, in groups; one that reads what it writes is none."""
        following = {workflow_id: set(self.following(workflow_id)) for workflow_id in self._workflows}
        # Most graphs have none: what has nothing after it is in no cycle, and is taken away again and again.
        suspects = _without_ends(following)
        groups: set[tuple[str, ...]] = set()
        reach = {x: set(self.downstream(x).workflows) & suspects for x in suspects}
        for workflow_id, reached in reach.items():
            group = {other for other in reached if workflow_id in reach[other]} | {workflow_id}
            if len(group) > 1:
                groups.add(tuple(sorted(group)))
        return tuple(sorted(groups))

    def columns_into(self, table: str) -> tuple[ColumnEdge, ...]:
        """The columns that the columns of a table are made from."""
        return tuple(
            x for found in self._workflows.values() for x in found.columns if x.target_table == table
        )

    def columns_out_of(self, table: str) -> tuple[ColumnEdge, ...]:
        """The columns that are made from the columns of a table."""
        return tuple(
            x for found in self._workflows.values() for x in found.columns if x.source_table == table
        )

    def edges(self, workflow_ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Who reads, writes and calls what, for programs; only of some workflows, if they are given."""
        wanted = self._workflows if workflow_ids is None else workflow_ids
        return [edge for workflow_id in wanted for edge in _edges(self._workflows[workflow_id])]

    def to_json(self) -> dict[str, Any]:
        """The graph for the UI: nodes and edges, and the column edges."""
        return {
            "nodes": [
                *({"id": node_id("table", x), "kind": "table", "name": x} for x in self.tables),
                *(_node(found) for found in self._workflows.values()),
            ],
            "edges": self.edges(),
            "columns": [edge.to_json() for found in self._workflows.values() for edge in found.columns],
            "cycles": [list(group) for group in self.cycles()],
        }

    def _reach(self, name: str, step: Callable[[str], Iterable[str]]) -> Reach:
        start = _workflow_key(name) if name in self._workflows else _table_key(self.table(name))
        found: dict[str, None] = {}
        waiting = [start]
        while waiting:
            for key in step(waiting.pop()):
                if key not in found:
                    found[key] = None
                    waiting.append(key)
        keys = sorted(found)
        return Reach(
            tuple(key[1:] for key in keys if key[0] == _TABLE),
            tuple(key[1:] for key in keys if key[0] == _WORKFLOW),
        )

    def _after(self, key: str) -> Iterable[str]:
        name = key[1:]
        if key[0] == _TABLE:
            return map(_workflow_key, self.readers(name))
        own = self._workflows[name]
        called = (x.workflow_id for x in own.calls if x.workflow_id in self._workflows)
        return [*map(_table_key, own.written_names), *map(_workflow_key, called)]

    def _before(self, key: str) -> Iterable[str]:
        name = key[1:]
        if key[0] == _TABLE:
            return map(_workflow_key, self.writers(name))
        return [*map(_table_key, self._workflows[name].read_names), *map(_workflow_key, self.callers(name))]

    @cached_property
    def _readers(self) -> Mapping[str, tuple[str, ...]]:
        return self._index(lambda found: found.read_names)

    @cached_property
    def _writers(self) -> Mapping[str, tuple[str, ...]]:
        return self._index(lambda found: found.written_names)

    @cached_property
    def _callers(self) -> Mapping[str, tuple[str, ...]]:
        return self._index(lambda found: dict.fromkeys(call.workflow_id for call in found.calls))

    def _index(self, names: Callable[[WorkflowTables], Iterable[str]]) -> Mapping[str, tuple[str, ...]]:
        made: dict[str, list[str]] = defaultdict(list)
        for workflow_id, found in self._workflows.items():
            for name in names(found):
                made[name].append(workflow_id)
        return {name: tuple(ids) for name, ids in made.items()}


_TABLE = "t"
_WORKFLOW = "w"


def _table_key(name: str) -> str:
    return _TABLE + name


def _workflow_key(name: str) -> str:
    return _WORKFLOW + name


def _sorted(before: Mapping[str, set[str]]) -> Iterable[str]:
    """A topological order that is the same for the same graph."""
    sorter = TopologicalSorter(before)
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        yield from ready
        sorter.done(*ready)


def _without_ends(following: Mapping[str, set[str]]) -> set[str]:
    """The workflows from which a way leads to a cycle."""
    preceding: dict[str, set[str]] = defaultdict(set)
    for workflow_id, others in following.items():
        for other in others:
            preceding[other].add(workflow_id)
    left = {workflow_id: len(others) for workflow_id, others in following.items()}
    ended = [workflow_id for workflow_id, count in left.items() if not count]
    while ended:
        workflow_id = ended.pop()
        del left[workflow_id]
        for before in preceding[workflow_id]:
            left[before] -= 1
            if not left[before]:
                ended.append(before)
    return set(left)


def node_id(kind: str, name: str) -> str:
    """What a node is called in the graph for programs: a table and a workflow may have one name."""
    return f"{kind}:{name}"


def _node(found: WorkflowTables) -> dict[str, Any]:
    return {
        "id": node_id("workflow", found.workflow_id),
        "kind": "workflow",
        "name": found.workflow_id,
        "version": found.version,
        "unknown": [gap.to_json() for gap in found.unknown],
    }


def _edges(found: WorkflowTables) -> Iterable[dict[str, Any]]:
    own = node_id("workflow", found.workflow_id)
    for read in found.reads:
        table = node_id("table", read.table)
        yield {"from": table, "to": own, "kind": "reads", "how": sorted(read.how)}
    for write in found.writes:
        table, kinds = node_id("table", write.table), sorted(write.kinds)
        yield {"from": own, "to": table, "kind": "writes", "how": sorted(write.how), "writes": kinds}
    for called in dict.fromkeys(call.workflow_id for call in found.calls):
        yield {"from": own, "to": node_id("workflow", called), "kind": "calls"}


def _not_found(code: str, message: str, name: str, known: Iterable[str]) -> NotFoundError:
    meant = nearest(name, known)
    remedy = f"did you mean '{meant}'?" if meant else "see them all with `calve lineage`"
    return NotFoundError(code, message, remedy)


def _cycle(path: Sequence[str]) -> UsageError:
    return UsageError(
        "LINEAGE_CYCLE",
        f"these workflows are made from each other, so none comes first: {' → '.join(path)}",
        "leave one of them out, or take apart what they write",
    )
