"""The lineage around one table or workflow, as the CLI and the API show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any

from sqlalchemy import Connection

from calve.backfill.lineage.graph import Lineage, Reach, node_id
from calve.backfill.lineage.loading import load_lineage, read_with_columns
from calve.backfill.lineage.model import ColumnEdge
from calve.errors import CalveError, NotFoundError, UsageError
from calve.lake import Lake, open_table
from calve.settings import Settings
from calve.state.database import Database
from calve.workflow.definition.problems import nearest

Json = dict[str, Any]
_Column = tuple[str, str]


class Kind(StrEnum):
    """What a name is the name of."""

    TABLE = "table"
    WORKFLOW = "workflow"


class Way(StrEnum):
    """Which way to follow the lineage."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


def describe_all(database: Database, settings: Settings) -> Json:
    """The whole graph."""
    with database.read() as connection:
        return load_lineage(connection, settings).to_json()


def describe(
    database: Database,
    settings: Settings,
    name: str,
    *,
    kind: Kind | None = None,
    way: Way | None = None,
    columns: bool = False,
) -> Json:
    """What a table or a workflow is made from, and what is made from it; both ways unless one is given.

    Names of tables may be short. Column edges are looked for with the columns that the tables have now, so
    only `columns` has a catalog asked. Raises TABLE_NOT_IN_LINEAGE, WORKFLOW_NOT_FOUND or LINEAGE_NOT_FOUND.
    """
    with database.read() as connection:
        lineage = load_lineage(connection, settings)
        found = find_named(lineage, Lake(settings), name, kind)
        reaches = {
            one.value: lineage.upstream(found[1]) if one is Way.UPSTREAM else lineage.downstream(found[1])
            for one in ((way,) if way else Way)
        }
        described = _describe(lineage, found, reaches)
        if columns:
            edges = _read_columns(connection, settings, lineage, found, reaches)
            described["columns"] = [edge.to_json() for edge in edges]
    return described


def find_named(lineage: Lineage, lake: Lake, name: str, kind: Kind | None = None) -> tuple[Kind, str]:
    """What a name is the name of, and the name in full. Raises as `describe` does."""
    if kind is Kind.WORKFLOW or (kind is None and name in lineage.workflows):
        return Kind.WORKFLOW, lineage.workflow(name).workflow_id
    try:
        full = str(lake.resolve(name))
    except UsageError:
        if kind is Kind.TABLE:
            raise
        full = name
    if kind is None and full not in lineage.tables:
        raise _not_found(lineage, name, full)
    return Kind.TABLE, lineage.table(full)


def _not_found(lineage: Lineage, name: str, full: str) -> NotFoundError:
    near = dict.fromkeys((nearest(name, lineage.workflows), nearest(full, lineage.tables)))
    listed = " or ".join(f"'{found}'" for found in near if found)
    return NotFoundError(
        "LINEAGE_NOT_FOUND",
        f"'{name}' is no workflow, and no pushed workflow reads or writes a table of that name",
        f"did you mean {listed}?" if listed else "see all with `calve lineage`",
    )


def _describe(lineage: Lineage, found: tuple[Kind, str], reaches: dict[str, Reach]) -> Json:
    kind, name = found
    inside = {node_id(kind, name)}
    for reach in reaches.values():
        inside |= {node_id(Kind.TABLE, table) for table in reach.tables}
        inside |= {node_id(Kind.WORKFLOW, workflow) for workflow in reach.workflows}
    near = [x for x in lineage.workflows if node_id(Kind.WORKFLOW, x) in inside]
    edges = [edge for edge in lineage.edges(near) if edge["from"] in inside and edge["to"] in inside]
    described: Json = {"kind": kind.value, "name": name}
    if kind is Kind.WORKFLOW:
        described["workflow"] = lineage.workflow(name).to_json()
    described |= {
        way: {"tables": list(reach.tables), "workflows": list(reach.workflows)}
        for way, reach in reaches.items()
    }
    gaps = {x: [gap.to_json() for gap in lineage.workflow(x).unknown] for x in near}
    return {**described, "edges": edges, "unknown": {x: listed for x, listed in gaps.items() if listed}}


def _read_columns(
    connection: Connection,
    settings: Settings,
    lineage: Lineage,
    found: tuple[Kind, str],
    reaches: Mapping[str, Reach],
) -> list[ColumnEdge]:
    """The column edges that lead to a table or a workflow, and those that lead on from it."""
    kind, name = found
    ids = {workflow for reach in reaches.values() for workflow in reach.workflows}
    ids |= {name} if kind is Kind.WORKFLOW else set()
    read = read_with_columns(connection, settings, sorted(ids), schemas_of(settings))
    edges = {edge for one in read for edge in one.columns}
    own = {edge for one in read if one.workflow_id == name and kind is Kind.WORKFLOW for edge in one.columns}
    wanted = set(own)
    if Way.UPSTREAM in reaches:
        start = {(name, x.target_column) for x in edges if x.target_table == name} | {_source(x) for x in own}
        wanted |= _follow(edges, start, _target, _source)
    if Way.DOWNSTREAM in reaches:
        start = {(name, x.source_column) for x in edges if x.source_table == name} | {_target(x) for x in own}
        wanted |= _follow(edges, start, _source, _target)
    return sorted(wanted)


def _source(edge: ColumnEdge) -> _Column:
    return edge.source_table, edge.source_column


def _target(edge: ColumnEdge) -> _Column:
    return edge.target_table, edge.target_column


def _follow(
    edges: Iterable[ColumnEdge],
    start: set[_Column],
    here: Callable[[ColumnEdge], _Column],
    there: Callable[[ColumnEdge], _Column],
) -> set[ColumnEdge]:
    """The edges on all ways that begin at these columns."""
    by_column: dict[_Column, list[ColumnEdge]] = defaultdict(list)
    for edge in edges:
        by_column[here(edge)].append(edge)
    found: set[ColumnEdge] = set()
    waiting = list(start)
    while waiting:
        for edge in by_column.pop(waiting.pop(), ()):
            found.add(edge)
            waiting.append(there(edge))
    return found


def schemas_of(settings: Settings) -> Callable[[str], Sequence[str] | None]:
    """The columns that tables have now, each table asked for once; None for one that cannot be opened."""
    lake = Lake(settings)

    @cache
    def columns(table: str) -> tuple[str, ...] | None:
        try:
            schema = open_table(lake, table).metadata.schema_of(None)
        except CalveError:
            # Not made yet, or out of reach: then the SQL alone has to tell.
            return None
        return tuple(field["name"] for field in schema["fields"])

    return columns
