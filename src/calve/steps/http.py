"""Http: a call to a server, whose answer says how the step ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from calve.errors import CalveError, UsageError
from calve.steps.contract import Ending, Finished, Handle, Options, Running, StepContext
from calve.steps.files import write_whole
from calve.steps.http_call import Answer, Call, check_target, send
from calve.steps.options import read_options, refused
from calve.steps.schema import optional, schema
from calve.workflow.params import ParamDefinition, ParamType
from calve.workflow.sel import evaluate

_ANSWER_FILE = "answer.json"
_POLL_S = 5.0
_ENDINGS = (Ending.DONE, Ending.USER_ERROR, Ending.PLATFORM_ERROR, Ending.FATAL_ERROR)
#: Answers of the 4xx kind that say "later": Request Timeout, Too Early, Too Many Requests.
_TRY_LATER = frozenset({408, 425, 429})


@dataclass(slots=True)
class _Sent:
    """A call that is on its way from this process, and whom to tell of its end."""

    task: asyncio.Task[None]
    wake: Callable[[], None]

    @property
    def is_here(self) -> bool:
        """True if it runs in the loop that asks."""
        return self.task.get_loop() is asyncio.get_running_loop()

    def tell(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self.wake()


_calls: dict[str, _Sent] = {}


class HttpRequest(BaseModel):
    """The param `http`."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    #: The address.
    url: str = Field(min_length=1)
    #: The method.
    method: str = Field(default="GET", pattern=r"^[A-Za-z]+$")
    #: Headers by name.
    headers: dict[str, str] = Field(default_factory=dict)
    #: What is sent: a text, or a map or list, as JSON.
    body: str | dict[str, Any] | list[Any] | None = None


class HttpOptions(Options):
    """What to ask, and what to make of the answer."""

    #: What is asked. A body that is no text is sent as JSON.
    http: HttpRequest
    #: A SEL expression over `status_code`, `response_body` and the params that gives `DONE`, `USER_ERROR`,
    #: `PLATFORM_ERROR` or `FATAL_ERROR`.
    state_expr: str | None = None


class Http:
    """A call that waits without a thread. After a crash it is sent again unless its answer was kept."""

    name: ClassVar[str] = "Http"
    inline: ClassVar[bool] = False
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        optional("state_expr", ParamType.STRING),
        optional("status_code", ParamType.LONG, 0),
        optional("response_body", ParamType.STRING, ""),
    )
    options: ClassVar[type[Options]] = HttpOptions

    async def start(self, context: StepContext) -> Running | Finished:
        """Send the call, unless this attempt has sent it."""
        return await self.poll(context, {})

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """What the answer says; the call is sent again if it was lost with its engine."""
        try:
            options = read_options(HttpOptions, context)
            answer = await asyncio.to_thread(_kept_answer, context.place)
            if answer is not None:
                _calls.pop(context.attempt_uuid, None)
                return await asyncio.to_thread(_finish, options, context, answer)
            return _wait(options, context)
        except CalveError as error:
            return refused(error)

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """Close the connection; what the server has begun is the server's."""
        sent = _calls.pop(context.attempt_uuid, None)
        if sent is not None and sent.is_here:
            sent.task.cancel()
            await asyncio.gather(sent.task, return_exceptions=True)


def _wait(options: HttpOptions, context: StepContext) -> Running | Finished:
    sent = _calls.get(context.attempt_uuid)
    if sent is None or not sent.is_here:
        _send(options, context)
        return Running(poll_after_s=_POLL_S)
    sent.wake = context.wake
    if sent.task.done() and not sent.task.cancelled() and sent.task.exception() is None:
        # It came while this call looked for it: the next look finds it.
        return Running(poll_after_s=0.0)
    if sent.task.done():
        del _calls[context.attempt_uuid]
        return Finished.failed(
            Ending.PLATFORM_ERROR,
            "HTTP_ANSWER_LOST",
            f"the answer could not be kept: {_reason(sent.task)}",
            "look at the disk of the engine",
        )
    return Running(poll_after_s=_POLL_S)


def _reason(task: asyncio.Task[None]) -> str:
    return "the call was cut off" if task.cancelled() else repr(task.exception())


def _send(options: HttpOptions, context: StepContext) -> None:
    asked = options.http
    check_target(asked.url, context.settings.http)
    call = Call.of(asked.method, asked.url, asked.headers, asked.body, context.attempt_uuid)
    task = asyncio.create_task(_call(call, context))
    _calls[context.attempt_uuid] = sent = _Sent(task, context.wake)
    task.add_done_callback(sent.tell)


async def _call(call: Call, context: StepContext) -> None:
    answer = await send(call, context.settings.http)
    await asyncio.to_thread(_keep, call, answer, context)


def _keep(call: Call, answer: Answer, context: StepContext) -> None:
    context.log(f"{call.target} -> {answer.status_code or answer.failure}")
    write_whole(context.folder / _ANSWER_FILE, json.dumps(answer.to_json()))


def _kept_answer(folder: Path) -> Answer | None:
    try:
        return Answer(**json.loads((folder / _ANSWER_FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _finish(options: HttpOptions, context: StepContext, answer: Answer) -> Finished:
    if answer.status_code is None:
        ending = Ending.FATAL_ERROR if answer.mistake else Ending.PLATFORM_ERROR
        return Finished.failed(
            ending, "HTTP_NO_ANSWER", f"there was no answer: {answer.failure}", "check 'url' and the server"
        )
    outputs = {"status_code": answer.status_code, "response_body": answer.body}
    artifacts = {"http": {"status_code": answer.status_code, "truncated": answer.truncated}}
    ending = (
        _judge(options.state_expr, context, outputs) if options.state_expr else _usual(answer.status_code)
    )
    if ending is Ending.DONE:
        return Finished.done(outputs, artifacts=artifacts)
    return Finished.failed(
        ending,
        "HTTP_STATUS",
        f"the server answered {answer.status_code}: {answer.body[:500]}".rstrip(": "),
        "look at the answer, or say with 'state_expr' which answers are good",
        outputs=outputs,
        artifacts=artifacts,
    )


def _usual(status_code: int) -> Ending:
    if 200 <= status_code < 300:
        return Ending.DONE
    if status_code >= 500 or status_code in _TRY_LATER:
        return Ending.PLATFORM_ERROR
    return Ending.USER_ERROR


def _judge(expression: str, context: StepContext, outputs: Mapping[str, Any]) -> Ending:
    found = evaluate(expression, {**context.params, **outputs}).value
    if found not in list(_ENDINGS):
        raise UsageError(
            "HTTP_STATE_INVALID",
            f"state_expr gives '{found}'",
            "let it give one of " + ", ".join(_ENDINGS),
        )
    return Ending(found)
