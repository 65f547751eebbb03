"""`calve render`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import output
from calve.cli.assignments import read_params
from calve.cli.client import ServerOption, open_client
from calve.cli.definitions import SUFFIXES, load_file
from calve.cli.validate import known_types
from calve.ledger.ledger import Ledger
from calve.settings import load_settings
from calve.steps.patterns.preview import Preview, preview
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.definition.model import Workflow
from calve.workflow.params import params_from_json, params_to_json

if TYPE_CHECKING:
    from rich.console import Console


def render(
    workflow: Annotated[str, typer.Argument(metavar="FILE|WORKFLOW", help="A workflow, or a file of one.")],
    step: Annotated[str | None, typer.Argument(help="Only this step.", show_default=False)] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="A param of the workflow.")
    ] = None,
    capture: Annotated[
        str | None, typer.Option(help="For this capture, not for what is pending.", show_default=False)
    ] = None,
    version: Annotated[str, typer.Option(help="active, latest, default or a number.")] = "default",
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Print the SQL that the patterns of a workflow would run, and run nothing.

    Example: calve render playback.yaml write --param day=20240115
    """
    found = _workflow(workflow, version, server)
    given = read_params(param or [], params_to_json(found.params))
    with Ledger(load_settings()) as ledger:
        previews = preview(ledger, found, step, params_from_json(given), capture)
    result = {"workflow_id": found.id, "steps": [one.to_json() for one in previews]}
    output.emit(result, json_output, lambda console: _show(console, previews))


def _workflow(name: str, version: str, server: str | None) -> Workflow:
    path = Path(name)
    if path.suffix in SUFFIXES and path.is_file():
        return load_file(path, known_types(server)).definition.workflow
    with open_client(server) as client:
        document = client.workflow_version(name, version)["workflow"]
    return WorkflowDefinition.model_validate({"workflow": document}).workflow


def _show(console: Console, previews: list[Preview]) -> None:
    for one in previews:
        lines = [f"-- step {one.step_id}: {one.type} of {one.source}, {one.records} rows of change"]
        lines += [f"-- note: {note}" for note in one.rendered.notes]
        if not one.rendered.statements:
            lines.append("-- nothing to do")
        console.print("\n".join(lines), markup=False)
        console.print(one.rendered.script, markup=False)
