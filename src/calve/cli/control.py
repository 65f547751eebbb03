"""What is done to workflows, instances and steps: stop, kill, pause, resume, unblock, skip, bypass."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from calve.cli import output
from calve.cli.client import Json, ServerOption, open_client
from calve.cli.completion import InstanceArgument, StepArgument, WorkflowArgument

MaybeInstance = Annotated[
    int | None,
    typer.Argument(
        help="One instance; otherwise all of the workflow.", metavar="[INSTANCE]", min=1, max=2**63 - 1
    ),
]
MaybeStep = Annotated[str | None, typer.Argument(help="One step of it.", metavar="[STEP]")]


def stop(
    workflow: WorkflowArgument,
    instance: MaybeInstance = None,
    step: MaybeStep = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Stop a step, an instance, or all instances of a workflow: they end as STOPPED.

    Example: calve stop demo.pipeline 7
    """
    _act("stop", workflow, instance, step, server, json_output)


def kill(
    workflow: WorkflowArgument,
    instance: MaybeInstance = None,
    step: MaybeStep = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Kill a step, an instance, or all instances of a workflow: they end as FAILED.

    Example: calve kill demo.pipeline 7 load
    """
    _act("kill", workflow, instance, step, server, json_output)


def unblock(
    workflow: WorkflowArgument,
    instance: MaybeInstance = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Let the queue of a strict_sequential workflow go on after a failed instance.

    Example: calve unblock demo.pipeline
    """
    _act("unblock", workflow, instance, None, server, json_output)


def pause(
    workflow: WorkflowArgument,
    instance: MaybeInstance = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Pause an instance: no further step begins. Or a workflow: no further instance begins.

    Example: calve pause demo.pipeline
    """
    _act("pause", workflow, instance, None, server, json_output)


def resume(
    workflow: WorkflowArgument,
    instance: MaybeInstance = None,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Let a paused instance or workflow go on.

    Example: calve resume demo.pipeline
    """
    _act("resume", workflow, instance, None, server, json_output)


def skip(
    workflow: WorkflowArgument,
    instance: InstanceArgument,
    step: StepArgument,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Skip a step: what comes after it goes on.

    Example: calve skip demo.pipeline 7 load
    """
    _act("skip", workflow, instance, step, server, json_output)


def bypass(
    workflow: WorkflowArgument,
    instance: InstanceArgument,
    step: StepArgument,
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Let a step go on without the signals that it waits for.

    Example: calve bypass demo.pipeline 7 load
    """
    _act("bypass", workflow, instance, step, server, json_output)


def _act(
    action: str,
    workflow: str,
    instance: int | None,
    step: str | None,
    server: str | None,
    json_output: bool,
) -> None:
    with open_client(server) as client:
        if instance is None:
            answer = client.act_on_workflow(workflow, action)
        elif step is None:
            answer = client.act_on_instance(workflow, instance, action)
        else:
            answer = client.act_on_step(workflow, instance, step, action)
    value: Json = {"action": action, "workflow_id": workflow, "instance_id": instance, "step_id": step}
    value = {key: item for key, item in value.items() if item is not None} | {"answer": answer}
    target = " ".join(str(part) for part in (workflow, instance, step) if part is not None)
    output.emit(value, json_output, lambda console: _say(console, action, target))


def _say(console: Any, action: str, target: str) -> None:
    console.print(f"{action}: {target}", markup=False)
