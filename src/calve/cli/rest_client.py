"""The way to Calve over a server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx2

from calve.cli.client import LATEST, Json, LogCall, RestartCall, StartCall, started_from
from calve.engine.model.statuses import RunStatus
from calve.errors import CalveError, ConflictError, FailedError, NotFoundError, UnreachableError, UsageError
from calve.workflow.definition import JobType, JobTypes, WorkflowDefinition
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep

_PREFIX = "/api/v3"
_TIMEOUT_S = 60.0
_LOOK_S = 0.25
_CONFLICT = 409
_DEFAULT_VERSION = "default"
_ERRORS: Mapping[int, type[CalveError]] = {404: NotFoundError, 409: ConflictError, 503: UnreachableError}


class RemoteError(UsageError):
    """An error that the server tells of, with all that it says."""

    def __init__(self, document: Json) -> None:
        super().__init__(document["code"], document["message"], document.get("remedy", ""))
        self._document = document

    def to_json(self) -> Json:
        """The error as the server gave it."""
        return {key: value for key, value in self._document.items() if key != "status"}


class _RemoteTypes:
    """The types that a server knows; templates by their version."""

    def __init__(self, found: Sequence[Json]) -> None:
        self._types = {
            (one["name"].lower(), one["version"]): JobType(
                one["name"], one["template_of"], frozenset(one["required"]), one.get("section")
            )
            for one in found
        }

    def find(self, name: str, version: str | None = None) -> JobType | None:
        """The type of that name, in that version if it is a template."""
        own = self._types.get((name.lower(), None))
        return own or self._types.get((name.lower(), version or _DEFAULT_VERSION))

    def names(self) -> list[str]:
        """The names of all types, for guesses."""
        return [one.name for one in self._types.values()]

    def check(self, step: TypedStep, workflow: Workflow) -> tuple[tuple[str, bool], ...]:
        """Nothing here: the server, which has the types, checks what is pushed."""
        return ()


class RestClient:
    """Commands over REST."""

    def __init__(self, url: str, token: str | None, user: str) -> None:
        self.url = url.rstrip("/").removesuffix(_PREFIX)
        headers = {"user": user} | ({"authorization": f"Bearer {token}"} if token else {})
        try:
            self._http = httpx2.Client(base_url=self.url + _PREFIX, headers=headers, timeout=_TIMEOUT_S)
        except (httpx2.InvalidURL, ValueError) as error:
            raise _bad_url(url, error) from error

    def job_types(self) -> JobTypes:
        """The types that the server knows."""
        return _RemoteTypes(self._call("GET", "/job-types")["job_types"])

    def push(self, definitions: Sequence[WorkflowDefinition]) -> list[Json]:
        """Push definitions, all or none."""
        documents = [definition.to_json() for definition in definitions]
        pushed: list[Json] = self._call("POST", "/workflows/batch", json=documents)["pushed"]
        return pushed

    def list_workflows(self, search: str | None, cursor: str | None, limit: int) -> Json:
        """Workflows by id."""
        return self._call("GET", "/workflows", search=search, cursor=cursor, limit=limit)

    def workflow_version(self, workflow_id: str, version: str) -> Json:
        """A version with its definition and the properties."""
        return self._call("GET", f"/workflows/{_quoted(workflow_id)}/versions/{_quoted(version)}")

    def start(self, call: StartCall) -> Json:
        """A new instance."""
        path = f"/workflows/{_quoted(call.workflow_id)}/versions/{_quoted(call.version)}/actions/start"
        body = {"run_params": call.params, "request_id": call.request_id, "initiator": {"type": "manual"}}
        return started_from(self._call("POST", path, json=body))

    def restart(self, call: RestartCall) -> Json:
        """A further run."""
        path = _instance(call.workflow_id, call.instance_id)
        if call.step_id is not None:
            body: Json = {"step_run_params": {call.step_id: call.params}} if call.params else {}
            return started_from(
                self._call("POST", f"{path}/steps/{_quoted(call.step_id)}/actions/restart", json=body)
            )
        policy = "RESTART_FROM_BEGINNING" if call.from_beginning else "RESTART_FROM_INCOMPLETE"
        body = {"restart_policy": policy, "run_params": call.params}
        return started_from(self._call("POST", f"{path}/actions/restart", json=body))

    def run_summary(self, workflow_id: str, instance_id: int, run_id: str = LATEST) -> Json:
        """A run and its steps."""
        return self._call("GET", f"{_instance(workflow_id, instance_id)}/runs/{_quoted(run_id)}/summary")

    def watch_run(self, workflow_id: str, instance_id: int, run_id: str) -> Iterator[Json]:
        """A run again and again, until it is over."""
        while True:
            summary = self.run_summary(workflow_id, instance_id, run_id)
            yield summary
            if RunStatus(summary["status"]).is_terminal:
                return
            time.sleep(_LOOK_S)

    def list_runs(
        self, workflow_id: str | None, status: str | None, limit: int, cursor: str | None = None
    ) -> Json:
        """A page of the newest runs."""
        return self._call("GET", "/runs", workflow_id=workflow_id, status=status, limit=limit, cursor=cursor)

    def read_log(self, call: LogCall) -> Json:
        """A piece of a log."""
        path = f"{_instance(call.workflow_id, call.instance_id)}/steps/{_quoted(call.step_id)}/logs"
        return self._call(
            "GET", path, run=call.run_id, attempt=call.attempt, offset=call.offset, tail=call.tail
        )

    def act_on_workflow(self, workflow_id: str, action: str) -> Json:
        """Act on a workflow."""
        return self._call("PUT", f"/workflows/{_quoted(workflow_id)}/actions/{action}")

    def act_on_instance(self, workflow_id: str, instance_id: int, action: str) -> Json:
        """Act on an instance."""
        return self._call("PUT", f"{_instance(workflow_id, instance_id)}/actions/{action}")

    def act_on_step(self, workflow_id: str, instance_id: int, step_id: str, action: str) -> Json:
        """Act on a step."""
        path = f"{_instance(workflow_id, instance_id)}/steps/{_quoted(step_id)}/actions/{action}"
        return self._call("PUT", path)

    def send_signal(
        self, name: str, params: Mapping[str, str | int], payload: Json, request_id: str | None
    ) -> Json:
        """Send a signal; one that was there before is no error here."""
        body = {"name": name, "params": dict(params), "payload": payload, "request_id": request_id}
        response = self._send("POST", "/signals", json=body)
        if response.status_code == _CONFLICT and response.json().get("code") == "SIGNAL_DUPLICATE":
            return {"name": name, "seq_id": response.json()["seq_id"], "duplicate": True}
        return {"name": name, "seq_id": self._read(response)["seq_id"], "duplicate": False}

    def lag(self, consumer: str | None, table: str | None) -> list[Json]:
        """What consumers have not processed yet."""
        found: list[Json] = self._call("GET", "/lag", consumer=consumer, table=table)["lag"]
        return found

    def lineage(self, name: str | None, direction: str | None, columns: bool) -> Json:
        """The lineage around a table or a workflow, or all of it."""
        return self._call("GET", "/lineage", name=name, direction=direction, columns=columns)

    def triggers(self, workflow_id: str) -> Json:
        """What starts a workflow by itself."""
        return self._call("GET", f"/workflows/{_quoted(workflow_id)}/triggers")

    def valid_through(self, table: str) -> Json:
        """Up to which moment a table is complete."""
        return self._call("GET", f"/tables/{_quoted(table)}/valid-through")

    def publish_valid_through(self, table: str, value: str) -> Json:
        """Say up to which moment a table is complete."""
        return self._call("PUT", f"/tables/{_quoted(table)}/valid-through", json={"valid_through": value})

    def plan_backfill(self, body: Json) -> Json:
        """Plan a backfill."""
        return self._call("POST", "/backfills", json=body)

    def list_backfills(self) -> list[Json]:
        """The newest backfills."""
        found: list[Json] = self._call("GET", "/backfills")["backfills"]
        return found

    def backfill(self, backfill_id: int) -> Json:
        """How a backfill stands."""
        return self._call("GET", f"/backfills/{backfill_id}")

    def backfill_plan(self, backfill_id: int) -> Json:
        """The plan of a backfill."""
        return self._call("GET", f"/backfills/{backfill_id}/plan")

    def backfill_report(self, backfill_id: int) -> str:
        """What a backfill did."""
        return str(self._call("GET", f"/backfills/{backfill_id}/report")["markdown"])

    def act_on_backfill(self, backfill_id: int, action: str, options: Json) -> Json:
        """Act on a backfill."""
        return self._call("POST", f"/backfills/{backfill_id}/actions/{action}", json=options)

    def is_engine_alive(self) -> bool:
        """Has the server's state an engine?"""
        return bool(self._call("GET", "/health")["engine_alive"])

    def close(self) -> None:
        """Give back the connections."""
        self._http.close()

    def _call(self, method: str, path: str, json: Any = None, **query: Any) -> Json:
        return self._read(self._send(method, path, json, **query))

    def _send(self, method: str, path: str, json: Any = None, **query: Any) -> httpx2.Response:
        params = {name: value for name, value in query.items() if value is not None}
        try:
            return self._http.request(method, path, json=json, params=params)
        except httpx2.UnsupportedProtocol as error:
            raise _bad_url(self.url, error) from error
        except httpx2.TransportError as error:
            raise UnreachableError(
                "SERVER_UNREACHABLE",
                f"the server {self.url} does not answer: {error}",
                "start it with `calve server`, or check --server and CALVE_SERVER",
            ) from error

    def _read(self, response: httpx2.Response) -> Json:
        try:
            document = response.json()
        except ValueError:
            document = None
        if response.is_success and isinstance(document, dict):
            return document
        if isinstance(document, dict) and "code" in document:
            raise _remote_error(response.status_code, document)
        raise UnreachableError(
            "SERVER_STRANGE",
            f"{self.url} answers {response.status_code} and is not a Calve server",
            "check --server and CALVE_SERVER",
        )


def _remote_error(status: int, document: Json) -> CalveError:
    kind = _ERRORS.get(status, FailedError if status >= 500 else None)
    if kind is None:
        return RemoteError(document)
    return kind(document["code"], document["message"], document.get("remedy", ""))


def _bad_url(url: str, error: Exception) -> UsageError:
    return UsageError(
        "SERVER_URL_INVALID", f"'{url}' is not the URL of a server: {error}", "write it as http://host:port"
    )


def _instance(workflow_id: str, instance_id: int) -> str:
    return f"/workflows/{_quoted(workflow_id)}/instances/{instance_id}"


def _quoted(part: str) -> str:
    return quote(part, safe="")
