"""The page of the lineage."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

from calve.backfill.lineage.describing import Kind, Way, find_named
from calve.backfill.lineage.graph import Lineage, node_id
from calve.lake import Lake
from calve.server.dependencies import Json, Orchestrating
from calve.settings import Settings
from calve.state.clock import now_ms
from calve.ui.commands import command
from calve.ui.drawing.graph import draw_graph
from calve.ui.pages import Pages
from calve.ui.views.lineage.choosing import Part, choose_all, choose_around
from calve.ui.views.lineage.facts import facts_of, freshness_of, rows_of
from calve.ui.views.lineage.reading import read_lineage
from calve.ui.views.tables.lateness import GRACE_MS

pages = Pages()
Direction = Literal["", "upstream", "downstream"]


@pages.page("/lineage", "lineage.html")
def lineage_page(
    orchestrator: Orchestrating,
    name: Annotated[str, Query(description="Only around this table or workflow.", max_length=2048)] = "",
    direction: Annotated[Direction, Query(description="Only this way; both without it.")] = "",
) -> Json:
    """Tables and workflows from left to right, with how fresh each is."""
    with orchestrator.database.read() as connection:
        lineage, unread = read_lineage(orchestrator, connection)
        kind, full, part = _choose(
            lineage, orchestrator.settings, "" if unread else name, Way(direction) if direction else None
        )
        fresh = freshness_of(connection, lineage, part, now_ms())
    facts = facts_of(part, fresh)
    edges = [(edge["from"], edge["to"]) for edge in part.edges]
    notes = {node: fact["note"][:28] for node, fact in facts.items()}
    labels = _labels(part, orchestrator.settings)
    return {
        "name": full,
        "kind": kind,
        "direction": direction,
        "picture": draw_graph(labels, edges, notes).to_json() if part.nodes else None,
        "facts": facts,
        "workflows": rows_of(lineage, part, fresh),
        "shown": len(part.nodes),
        "total": part.total,
        "unconnected": len(lineage.workflows) - len(part.workflows) if not full else 0,
        "unread": unread,
        "grace_ms": GRACE_MS,
        "command": _command(full, direction),
    }


def _choose(lineage: Lineage, settings: Settings, name: str, way: Way | None) -> tuple[str, str, Part]:
    if not name.strip():
        return "", "", choose_all(lineage)
    kind, full = find_named(lineage, Lake(settings), name.strip())
    return kind.value, full, choose_around(lineage, Kind(kind), full, way)


def _labels(part: Part, settings: Settings) -> dict[str, str]:
    """Names without what the names of all tables begin with where there is one catalog."""
    spare = node_id(Kind.TABLE, f"{next(iter(settings.catalogs))}." if len(settings.catalogs) == 1 else "")
    return {
        node: node.removeprefix(spare) if node.startswith(spare) else node.partition(":")[2]
        for node in part.nodes
    }


def _command(name: str, direction: Direction) -> str:
    return command("lineage", name, f"--{direction}" if direction and name else None)
