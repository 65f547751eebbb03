"""What the picture of the lineage says of each node, and the same as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from calve.backfill.lineage.describing import Kind
from calve.backfill.lineage.graph import Lineage, node_id
from calve.server.dependencies import Json
from calve.ui.addresses import table_address, workflow_address
from calve.ui.views.lineage.choosing import Part
from calve.ui.views.tables.freshness import Freshness, fresh_workflows, worst
from calve.ui.views.tables.writers import writers_of

_SOURCE = Freshness("NONE", "a source: no workflow writes it")
_UNWRITTEN = Freshness("NONE", "not written yet: its workflow never ran")


def freshness_of(connection: Connection, lineage: Lineage, part: Part, now: int) -> dict[str, Freshness]:
    """How fresh each node is: a table is as fresh as the least fresh of the workflows that write it."""
    writers = writers_of(connection, lineage, sorted(part.tables))
    ids = {*part.workflows, *(x for found in writers.values() for x in found)}
    fresh = fresh_workflows(connection, sorted(ids), now)
    found = {node_id(Kind.WORKFLOW, x): fresh[x] for x in part.workflows if x in fresh}
    for table, own in writers.items():
        known = [fresh[x] for x in own if x in fresh]
        told = worst(known) if known else _SOURCE
        found[node_id(Kind.TABLE, table)] = _UNWRITTEN if known and told.status == "NONE" else told
    return found


def facts_of(part: Part, fresh: Mapping[str, Freshness]) -> dict[str, Json]:
    """For each node its page, its status, and a note in words."""
    return {node: _fact(node, fresh.get(node)) for node in part.nodes}


def _fact(node: str, told: Freshness | None) -> Json:
    kind, _, name = node.partition(":")
    status = "NONE" if told is None else told.status
    return {
        "href": table_address(name) if kind == Kind.TABLE else workflow_address(name),
        "status": status,
        "kind": kind,
        "title": f"{kind} {name}",
        "note": _note(status, "" if told is None else told.why),
    }


def _note(status: str, why: str) -> str:
    if status == "NONE":
        return why.partition(":")[0]
    return f"{status.lower()}: {why}" if why else status.lower()


def rows_of(lineage: Lineage, part: Part, fresh: Mapping[str, Freshness]) -> list[Json]:
    """Each workflow with what it reads, writes and calls, by id."""
    return [_row(lineage, workflow_id, fresh) for workflow_id in sorted(part.workflows)]


def _row(lineage: Lineage, workflow_id: str, fresh: Mapping[str, Freshness]) -> Json:
    found = lineage.workflow(workflow_id)
    told = fresh.get(node_id(Kind.WORKFLOW, workflow_id))
    return {
        "workflow_id": workflow_id,
        "freshness": None if told is None else told.to_json(),
        "reads": list(found.read_names),
        "writes": list(found.written_names),
        "calls": [
            {"workflow_id": called, "is_known": called in lineage.workflows}
            for called in dict.fromkeys(call.workflow_id for call in found.calls)
        ],
        "unknown": [gap.to_json() for gap in found.unknown],
    }
