"""What commands ask of Calve, whether it is in this process or behind a server.

Both ways answer with the same plain values. `open_client` chooses: the server of `--server` or CALVE_SERVER
if there is one, and the state of the home otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

if TYPE_CHECKING:
    from calve.workflow.definition import JobTypes, WorkflowDefinition

Json = dict[str, Any]
LATEST = "latest"

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server", envvar="CALVE_SERVER", help="The URL of a server; without it, the state of the home."
    ),
]


@dataclass(frozen=True, slots=True)
class StartCall:
    """A start, with params in Maestro's form."""

    workflow_id: str
    version: str = "default"
    params: Mapping[str, Json] = field(default_factory=dict)
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class RestartCall:
    """A further run of an instance, or of one step of it."""

    workflow_id: str
    instance_id: int
    #: The step to restart from; None is the whole instance.
    step_id: str | None = None
    from_beginning: bool = False
    params: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogCall:
    """A piece of the log of a step."""

    workflow_id: str
    instance_id: int
    step_id: str
    run_id: str | None = None
    attempt: str = LATEST
    offset: int = 0
    tail: int | None = None


class Client(Protocol):
    """One way to Calve."""

    #: Where links lead to.
    url: str

    def job_types(self) -> JobTypes:
        """The types that jobs may have."""

    def push(self, definitions: Sequence[WorkflowDefinition]) -> list[Json]:
        """Push definitions, all or none: `[{"workflow_id", "version"}]`."""

    def list_workflows(self, search: str | None, cursor: str | None, limit: int) -> Json:
        """Workflows by id."""

    def workflow_version(self, workflow_id: str, version: str) -> Json:
        """A version with its definition and the properties."""

    def start(self, call: StartCall) -> Json:
        """A new instance: `{"workflow_id", "instance_id", "run_id", "outcome"}`."""

    def restart(self, call: RestartCall) -> Json:
        """A further run, in the same form."""

    def run_summary(self, workflow_id: str, instance_id: int, run_id: str = LATEST) -> Json:
        """A run and its steps."""

    def watch_run(self, workflow_id: str, instance_id: int, run_id: str) -> Iterator[Json]:
        """A run again and again as it changes, until it is over."""

    def list_runs(
        self, workflow_id: str | None, status: str | None, limit: int, cursor: str | None = None
    ) -> Json:
        """A page of the newest runs, which goes on after `cursor`."""

    def read_log(self, call: LogCall) -> Json:
        """A piece of a log."""

    def act_on_workflow(self, workflow_id: str, action: str) -> Json:
        """Stop, kill, unblock, pause or resume a workflow."""

    def act_on_instance(self, workflow_id: str, instance_id: int, action: str) -> Json:
        """Stop, kill, unblock, pause or resume an instance."""

    def act_on_step(self, workflow_id: str, instance_id: int, step_id: str, action: str) -> Json:
        """Stop, kill, skip or bypass a step."""

    def send_signal(
        self, name: str, params: Mapping[str, str | int], payload: Json, request_id: str | None
    ) -> Json:
        """Send a signal: `{"name", "seq_id", "duplicate"}`."""

    def lag(self, consumer: str | None, table: str | None) -> list[Json]:
        """What consumers have not processed yet, in each table."""

    def lineage(self, name: str | None, direction: str | None, columns: bool) -> Json:
        """What a table or a workflow is made from, and what is made from it; all there is, without a name."""

    def triggers(self, workflow_id: str) -> Json:
        """What starts a workflow by itself, and why it last did or did not."""

    def valid_through(self, table: str) -> Json:
        """Up to which moment a table is complete."""

    def publish_valid_through(self, table: str, value: str) -> Json:
        """Say up to which moment a table is complete."""

    def plan_backfill(self, body: Json) -> Json:
        """Plan a backfill: `{"backfill_id", "plan", "explanation"}`."""

    def list_backfills(self) -> list[Json]:
        """The newest backfills."""

    def backfill(self, backfill_id: int) -> Json:
        """How a backfill stands."""

    def backfill_plan(self, backfill_id: int) -> Json:
        """The plan of a backfill."""

    def backfill_report(self, backfill_id: int) -> str:
        """What a backfill did, as Markdown."""

    def act_on_backfill(self, backfill_id: int, action: str, options: Json) -> Json:
        """Run, pause, resume, retry, cancel, … a backfill; how it stands then."""

    def is_engine_alive(self) -> bool:
        """Is anybody there to run what is queued?"""

    def close(self) -> None:
        """Give back what is held."""


@contextmanager
def open_client(server: str | None) -> Iterator[Client]:
    """The way to the server that is named, or to the state of the home."""
    client = _client(server)
    try:
        yield client
    finally:
        client.close()


def _client(server: str | None) -> Client:
    from calve.settings import load_settings

    settings = load_settings()
    if server:
        from calve.cli.rest_client import RestClient

        return RestClient(server, settings.api.secret(), user_name())
    from calve.cli.embedded_client import EmbeddedClient

    return EmbeddedClient(settings, user_name())


def started_from(answer: Json) -> Json:
    """What a start or a restart led to, from the answer in Maestro's form."""
    return {
        "workflow_id": answer["workflow_id"],
        "instance_id": answer["workflow_instance_id"],
        "run_id": answer["workflow_run_id"],
        "outcome": answer["status"],
    }


def user_name() -> str:
    """Who runs this command."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "anonymous"


def instance_link(client: Client, workflow_id: str, instance_id: int) -> str:
    """Where an instance is to be seen."""
    from urllib.parse import quote

    return f"{client.url}/workflows/{quote(workflow_id)}/instances/{instance_id}"
