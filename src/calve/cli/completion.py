"""Arguments that the shell can complete."""

from __future__ import annotations

import os
from typing import Annotated

import typer

_LIMIT = 100


def workflow_ids(incomplete: str) -> list[str]:
    """Workflow ids that begin with a text; none if they cannot be had."""
    from calve.cli.client import open_client
    from calve.errors import CalveError

    try:
        with open_client(os.environ.get("CALVE_SERVER")) as client:
            found = client.list_workflows(incomplete or None, None, _LIMIT)["workflows"]
    except CalveError:
        # A shell that completes has no place for an error; the command itself will tell it.
        return []
    return [one["workflow_id"] for one in found if one["workflow_id"].startswith(incomplete)]


WorkflowArgument = Annotated[
    str, typer.Argument(help="The id of the workflow.", autocompletion=workflow_ids, metavar="WORKFLOW")
]
InstanceArgument = Annotated[
    int, typer.Argument(help="The number of the instance.", metavar="INSTANCE", min=1, max=2**63 - 1)
]
StepArgument = Annotated[str, typer.Argument(help="The id of the step.", metavar="STEP")]
