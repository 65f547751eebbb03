"""`calve list` and `calve show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import output
from calve.cli.client import Json, ServerOption, open_client
from calve.cli.completion import WorkflowArgument
from calve.cli.paging import gather

if TYPE_CHECKING:
    from rich.console import Console

_PAGE = 200


def list_workflows(
    search: Annotated[
        str | None, typer.Argument(help="Only those with this text in id, name, description, tags or owner.")
    ] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 1_000,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """List workflows, with the latest run of each.

    Example: calve list orders
    """
    with open_client(server) as client:
        found = gather(
            lambda count, cursor: client.list_workflows(search, cursor, count), "workflows", limit, _PAGE
        )
    output.emit(found, json_output, lambda console: _show_list(console, found["workflows"]))


def show(
    workflow: WorkflowArgument,
    version: Annotated[str, typer.Option(help="active, latest, default or a number.")] = "default",
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Show a workflow: its definition as YAML, its properties, what triggers it.

    Example: calve show demo.pipeline --version 3
    """
    with open_client(server) as client:
        found = client.workflow_version(workflow, version)
    output.emit(found, json_output, lambda console: _show_version(console, found))


def _show_list(console: Console, found: list[Json]) -> None:
    if not found:
        console.print("no workflows; push one with `calve push FILE`")
        return
    rows: list[list[object]] = [
        [
            one["workflow_id"] + (" (paused)" if one["paused"] else ""),
            one.get("active_version_id"),
            one["latest_version_id"],
            _owner(one.get("owner")),
            one.get("latest_run", {}).get("workflow_instance_id"),
            one.get("latest_run", {}).get("status"),
            output.moment(one.get("latest_run", {}).get("create_time")),
        ]
        for one in found
    ]
    columns = ["workflow", "active", "latest", "owner", "instance", "status", "created"]
    console.print(output.table(columns, rows))


def _owner(owner: object) -> object:
    return owner.get("name") if isinstance(owner, dict) else owner


def _show_version(console: Console, found: Json) -> None:
    from calve.workflow.definition import WorkflowDefinition, to_yaml

    metadata = found["metadata"]
    said = [word for word, key in (("active", "is_active"), ("latest", "is_latest")) if found[key]]
    lines = [
        f"# version {metadata['workflow_version_id']}" + (f" ({', '.join(said)})" if said else ""),
        f"# pushed {output.moment(metadata['create_time'])} by {metadata['version_author']['name']}",
    ]
    properties = found["properties_snapshot"]
    lines += [
        f"# {name}: {value}"
        for name, value in properties.items()
        if name not in ("workflow_id", "snapshot_id")
    ]
    workflow = found["workflow"]
    lines += [
        f"# trigger: {trigger}"
        for kind in ("time_triggers", "signal_triggers", "incremental_triggers")
        for trigger in workflow.get(kind, [])
    ]
    definition = WorkflowDefinition.model_validate({"workflow": workflow})
    console.print("\n".join([*lines, to_yaml(definition)]), markup=False, end="")
