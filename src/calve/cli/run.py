"""`calve run` and `calve restart`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from calve.cli import output
from calve.cli.assignments import read_params
from calve.cli.client import Client, Json, RestartCall, ServerOption, StartCall, instance_link, open_client
from calve.cli.completion import InstanceArgument, WorkflowArgument
from calve.cli.step_tree import follow_run
from calve.errors import FailedError, UsageError
from calve.logs import notice

ParamsArgument = Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]…", help="Params.")]
WaitOption = Annotated[bool, typer.Option("--wait", help="Show its steps until it is over.")]

_SUCCEEDED = "SUCCEEDED"


def run(
    workflow: WorkflowArgument,
    params: ParamsArgument = None,
    version: Annotated[str, typer.Option(help="active, latest, default or a number.")] = "default",
    wait: WaitOption = False,
    request_id: Annotated[
        str | None, typer.Option(help="Two starts with the same id are one.", show_default=False)
    ] = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Start a workflow. With --wait the exit code is 1 if the run does not succeed.

    Example: calve run demo.pipeline date=20240101 region=us --wait
    """
    with open_client(server) as client:
        declared = client.workflow_version(workflow, version)["workflow"].get("params", {})
        given = read_params(params or [], declared)
        started = client.start(StartCall(workflow, version, given, request_id))
        _report(client, started, wait, json_output)


def restart(
    workflow: WorkflowArgument,
    instance: InstanceArgument,
    params: ParamsArgument = None,
    from_step: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="From this step on.", show_default=False)
    ] = None,
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="All steps again.")] = False,
    wait: WaitOption = False,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Run an instance again: the steps that did not complete, or from a step on, or all of them.

    Example: calve restart demo.pipeline 7 --from load date=20240102 --wait
    """
    if from_step is not None and from_beginning:
        raise UsageError("USAGE", "found --from and --from-beginning", "give one of the two")
    with open_client(server) as client:
        version = client.run_summary(workflow, instance)["version"]
        definition = client.workflow_version(workflow, str(version))["workflow"]
        given = read_params(params or [], _declared(definition, from_step))
        started = client.restart(RestartCall(workflow, instance, from_step, from_beginning, given))
        _report(client, started, wait, json_output)


def _declared(definition: Json, step_id: str | None) -> Json:
    """The params that an assignment is about: those of the workflow, or of the step."""
    if step_id is None:
        found: Json = definition.get("params", {})
        return found
    waiting: list[Any] = [step for wrapper in definition["steps"] for step in wrapper.values()]
    for step in waiting:
        if step["id"] == step_id:
            return dict(step.get("params", {}))
        waiting += [inner for wrapper in step.get("steps", ()) for inner in wrapper.values()]
    return {}


def _report(client: Client, started: Json, wait: bool, json_output: bool) -> None:
    link = instance_link(client, started["workflow_id"], started["instance_id"])
    if not json_output:
        sys.stdout.write(f"{started['workflow_id']}, instance {started['instance_id']}: {link}\n")
    place = (started["workflow_id"], started["instance_id"], str(started["run_id"]))
    if not wait:
        summary = client.run_summary(*place)
        waiting = summary["status"] == "CREATED" and not client.is_engine_alive()
        value = {**summary, "link": link, "outcome": started["outcome"], "engine_alive": not waiting}
        output.emit(value, json_output, lambda console: console.print(_said(started, waiting), markup=False))
        return
    summary = _wait(client, place, json_output)
    if json_output:
        output.emit_json({**summary, "link": link, "outcome": started["outcome"]})
    if summary["status"] != _SUCCEEDED:
        raise typer.Exit(FailedError.exit_code)


def _said(started: Json, waiting: bool) -> str:
    text = {"DUPLICATED": "it was started before", "STOPPED": "its run strategy stopped it"}.get(
        started["outcome"], "started"
    )
    return "queued; no engine is there to run it: start `calve dev`" if waiting else text


def _wait(client: Client, place: tuple[str, int, str], quiet: bool) -> Json:
    console = output.make_console(quiet=quiet)
    with engine_for(client) as is_own:
        try:
            return follow_run(console, client.watch_run(*place))
        except KeyboardInterrupt:
            if not quiet:
                notice(
                    "the run waits for an engine: go on with `calve dev`"
                    if is_own
                    else f"the run goes on; stop it with `calve stop {place[0]} {place[1]}`"
                )
            raise


@contextmanager
def engine_for(client: Client) -> Iterator[bool]:
    """An engine in this process if the work would otherwise wait for one; true if it is there."""
    from calve.cli.embedded_client import EmbeddedClient

    if not isinstance(client, EmbeddedClient) or client.is_engine_alive():
        yield False
        return
    with client.running_engine():
        yield True
