"""What a step type is: start, poll and cancel, on plain values.

The engine calls `start` once the attempt is recorded as STARTING, and again after a crash if it cannot
tell whether `start` went through: it must be idempotent by `context.attempt_uuid`. What `start` and `poll`
give back as the handle is stored; after a crash any engine may go on with `poll` from it. A type holds no
state of its own between calls, and no thread: to wait, give back `Running` and say when to ask again, or
call `context.wake()` when there is news.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict

from calve.settings import Settings
from calve.workflow.params import ParamDefinition

#: Plain JSON that lets any engine go on with a step.
Handle = Mapping[str, Any]

LOG_FILE = "log.txt"
DEFAULT_POLL_S = 1.0


class Ending(StrEnum):
    """How an attempt of a step ended."""

    DONE = "DONE"
    #: The step's own code failed: tried again by `error_retry_limit`.
    USER_ERROR = "USER_ERROR"
    #: What runs the step failed: tried again by `platform_retry_limit`.
    PLATFORM_ERROR = "PLATFORM_ERROR"
    #: Trying again cannot help.
    FATAL_ERROR = "FATAL_ERROR"
    #: Somebody other than the engine stopped it.
    STOPPED = "STOPPED"
    #: It gave up by a timeout of its own: tried again by `timeout_retry_limit`.
    TIMED_OUT = "TIMED_OUT"
    #: Nothing was to be done, and nothing downstream is either: the rest of the run is skipped.
    SKIP_REST = "SKIP_REST"


@dataclass(frozen=True, slots=True)
class StepError:
    """Why an attempt failed, for people; `code` is for programs."""

    code: str
    message: str
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        """The error as the API shows it."""
        return {"code": self.code, "message": self.message, "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class Running:
    """The step goes on."""

    handle: Handle = field(default_factory=dict)
    #: What to show of its progress: `{"message"?, "fraction"?, …}`; None keeps what was shown before.
    progress: Mapping[str, Any] | None = None
    poll_after_s: float = DEFAULT_POLL_S


@dataclass(frozen=True, slots=True)
class SignalToSend:
    """A signal that the job asks to be sent."""

    name: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finished:
    """The attempt is over."""

    ending: Ending
    error: StepError | None = None
    #: Values for params that the step declares; the engine checks names, types and modes.
    outputs: Mapping[str, Any] = field(default_factory=dict)
    #: What else is worth keeping, shown with the step.
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    signals: tuple[SignalToSend, ...] = ()

    @classmethod
    def done(cls, outputs: Mapping[str, Any] | None = None, **more: Any) -> Finished:
        """A success."""
        return cls(Ending.DONE, outputs=outputs or {}, **more)

    @classmethod
    def failed(cls, ending: Ending, code: str, message: str, remedy: str = "", **more: Any) -> Finished:
        """A failure of some kind."""
        return cls(ending, StepError(code, message, remedy), **more)


class Advice(str):
    """Something odd about a definition that is accepted all the same."""

    __slots__ = ()


class Options(BaseModel):
    """What a step type understands, checked over the evaluated params; other params are the user's own."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    #: A map param in which the options may stand together: `spark: {script: …}`; what stands beside it wins.
    section: ClassVar[str | None] = None
    #: Other names of some options, and what they stand for.
    other_names: ClassVar[Mapping[str, str]] = {}


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """One attempt of a step, as its type sees it."""

    workflow_id: str
    instance_id: int
    run_id: int
    step_id: str
    attempt_id: int
    #: The key of the run in the state, by which the runs around it are found.
    run: int = 0
    #: Unique to this attempt: what `start` is idempotent by.
    attempt_uuid: str
    #: All params of the step, evaluated, as plain values.
    params: Mapping[str, Any]
    #: All params of the workflow, evaluated, as plain values.
    workflow_params: Mapping[str, Any]
    #: The params that the definition or a start gave, without those that every step has.
    own_params: Mapping[str, Any]
    settings: Settings
    #: Where this attempt keeps its files; the same after a crash. It may not exist yet.
    place: Path
    #: Ask the engine to poll this attempt now. May be called from any thread.
    wake: Callable[[], None] = lambda: None

    @property
    def folder(self) -> Path:
        """The place of this attempt, made."""
        self.place.mkdir(parents=True, exist_ok=True)
        return self.place

    @property
    def log_file(self) -> Path:
        """The step's log, which `calve logs` shows; a job's output goes there."""
        return self.folder / LOG_FILE

    def log(self, line: str) -> None:
        """Append a line to the step's log."""
        with self.log_file.open("a", encoding="utf-8") as stream:
            stream.write(line.rstrip("\n") + "\n")


class StepType(Protocol):
    """A kind of work. One file, one class, one registry line (or an entry point `calve.steps`)."""

    #: What a definition writes after `type:`; found in any case of letters.
    name: ClassVar[str]
    #: True if the type touches nothing outside the engine and never awaits: it then runs in the engine's
    #: own transaction, and costs no further commit.
    inline: ClassVar[bool]
    #: The params of the type with their types and defaults; `internal_mode` REQUIRED makes one a must.
    schema: ClassVar[Mapping[str, ParamDefinition]]
    options: ClassVar[type[Options]]

    # A type may also have:
    # `outputs: ClassVar[frozenset[str]]`: params that it gives though the definition does not declare them;
    # each has the type of its value.
    # `check(self, step: TypedStep, workflow: Workflow) -> Iterable[str]`: what is wrong with a definition, as
    # far as can be told before it runs; an `Advice` is shown, and does not refuse it.

    async def start(self, context: StepContext) -> Running | Finished:
        """Begin, or find out that this attempt has begun already."""

    async def poll(self, context: StepContext, handle: Handle) -> Running | Finished:
        """How it stands. Called when `poll_after_s` is over, after `wake()`, and after a crash."""

    async def cancel(self, context: StepContext, handle: Handle) -> None:
        """End it, gently and then by force; after this call nothing of it runs any more."""
