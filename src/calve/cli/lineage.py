"""`calve lineage`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import output
from calve.cli.client import Json, ServerOption, open_client
from calve.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

_UP = "upstream"
_DOWN = "downstream"
_STYLES = {"table": "cyan", "workflow": "bold"}


def lineage(
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE|WORKFLOW", help="Around this one; all without it.", show_default=False),
    ] = None,
    upstream: Annotated[bool, typer.Option("--upstream", help="Only what it is made from.")] = False,
    downstream: Annotated[bool, typer.Option("--downstream", help="Only what is made from it.")] = False,
    columns: Annotated[bool, typer.Option("--columns", help="Show columns too.")] = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Show what a table or a workflow is made from, and what is made from it.

    Example: calve lineage db.daily --downstream
    """
    if name is None and (upstream or downstream or columns):
        raise UsageError(
            "NAME_MISSING",
            "a direction and --columns are about one table or workflow, and none is named",
            "give its name, or leave them out",
        )
    way = None if upstream == downstream else _UP if upstream else _DOWN
    with open_client(server) as client:
        found = client.lineage(name, way, columns)
    show = _show_all if name is None else _show
    output.emit(found, json_output, lambda console: show(console, found))


def _show(console: Console, found: Json) -> None:
    start = f"{found['kind']}:{found['name']}"
    for way in (_UP, _DOWN):
        if way in found:
            console.print(_tree(f"{way} of {found['name']}", start, _following(found["edges"], way)))
    if "columns" in found:
        rows: list[list[object]] = [
            [f"{one['target_table']}.{one['target_column']}", f"{one['source_table']}.{one['source_column']}"]
            for one in found["columns"]
        ]
        console.print(output.table(["column", "made from"], rows))
    _show_unknown(console, found["unknown"])


def _show_all(console: Console, found: Json) -> None:
    workflows = [node for node in found["nodes"] if node["kind"] == "workflow"]
    edges: dict[tuple[str, str], list[str]] = defaultdict(list)
    for edge in found["edges"]:
        own, other = ("to", "from") if edge["kind"] == "reads" else ("from", "to")
        edges[edge[own], edge["kind"]].append(_name(edge[other]))
    rows: list[list[object]] = [
        [node["name"], *("\n".join(edges[node["id"], kind]) or None for kind in ("reads", "writes", "calls"))]
        for node in workflows
    ]
    console.print(output.table(["workflow", "reads", "writes", "calls"], rows))
    for group in found["cycles"]:
        console.print(f"made from each other: {', '.join(group)}", markup=False)
    _show_unknown(console, {node["name"]: node["unknown"] for node in workflows})


def _following(edges: list[Json], way: str) -> Mapping[str, list[tuple[str, str]]]:
    """The nodes one step away from each node, with what leads there."""
    own, other = ("to", "from") if way == _UP else ("from", "to")
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for edge in edges:
        found[edge[own]].append((edge[other], _label(edge)))
    return found


def _label(edge: Json) -> str:
    if edge["kind"] == "writes":
        return ", ".join(edge["writes"])
    return "captured" if edge.get("how") == ["capture"] else "called" if edge["kind"] == "calls" else ""


def _tree(title: str, start: str, following: Mapping[str, list[tuple[str, str]]]) -> Tree:
    from rich.tree import Tree

    tree = Tree(title)
    _grow(tree, start, following, {start})
    if not tree.children:
        tree.add("nothing", style="dim")
    return tree


def _grow(tree: Tree, node: str, following: Mapping[str, list[tuple[str, str]]], seen: set[str]) -> None:
    """Add what is next to a node; what has been shown is named again and not followed."""
    from rich.text import Text

    for other, label in following.get(node, ()):
        kind = other.partition(":")[0]
        again = other in seen
        line = Text(_name(other), style="dim" if again else _STYLES[kind])
        line.append(f"  {label}" if label else "", style="dim").append("  …" if again else "", style="dim")
        branch = tree.add(line)
        if not again:
            seen.add(other)
            _grow(branch, other, following, seen)


def _name(node: str) -> str:
    return node.partition(":")[2]


def _show_unknown(console: Console, unknown: Mapping[str, list[Json]]) -> None:
    for workflow_id, gaps in unknown.items():
        for gap in gaps:
            told = f"{' and '.join(gap['directions'])} of {workflow_id}/{gap['step_id']} not known"
            console.print(f"{told}: {gap['why']}", style="yellow", markup=False)
