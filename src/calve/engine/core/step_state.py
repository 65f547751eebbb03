"""One attempt of a step, as the engine that owns it holds it in memory."""

from __future__ import annotations

import itertools
import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from calve.engine.model.statuses import StepStatus
from calve.engine.model.transitions import check_step
from calve.engine.outbox import dump
from calve.workflow.definition.steps import Step
from calve.workflow.params import EvaluatedParam

_tallies = itertools.count(1)
RETRY_KINDS = ("error", "platform", "timeout")


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """Names one attempt of one step of one run."""

    run: int
    step_id: str
    attempt_id: int


@dataclass(slots=True)
class StepState:
    """The newest attempt of a step. Statuses change through `move` alone."""

    run: int
    definition: Step
    attempt_id: int
    uuid: str
    created_at: int
    status: StepStatus = StepStatus.NOT_CREATED
    #: The status in the database; None: there is no row yet.
    stored: StepStatus | None = None
    carried: bool = False
    #: Where a stop, a kill, a skip or a timeout leads to, once the work has ended.
    ending: StepStatus | None = None
    params: dict[str, EvaluatedParam] = field(default_factory=dict)
    handle: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    artifacts: dict[str, Any] = field(default_factory=dict)
    dependencies: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, Any] | None = None
    retries: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RETRY_KINDS, 0))
    started_at: int | None = None
    ended_at: int | None = None
    deadline_at: int | None = None
    wake_at: int | None = None
    #: The statuses since the last flush, with their times.
    path: list[tuple[str, int]] = field(default_factory=list)
    #: True while a type of its own is at work on it: a driver in the executor.
    driven: bool = False
    #: Of a step made of other runs: which count of their ends this is. A new count knows all earlier ends.
    tally: int = field(default_factory=lambda: next(_tallies))
    _written: tuple[dict[str, EvaluatedParam], str] | None = None

    @classmethod
    def new(cls, run: int, definition: Step, attempt_id: int, now_ms: int) -> StepState:
        """An attempt that begins."""
        state = cls(
            run=run, definition=definition, attempt_id=attempt_id, uuid=str(uuid.uuid4()), created_at=now_ms
        )
        state.move(StepStatus.CREATED, now_ms)
        return state

    @property
    def id(self) -> str:
        """The id of the step."""
        return self.definition.id

    @property
    def key(self) -> AttemptKey:
        """The name of this attempt."""
        return AttemptKey(self.run, self.id, self.attempt_id)

    @property
    def values(self) -> dict[str, Any]:
        """The evaluated params as plain values."""
        return {name: param.value for name, param in self.params.items()}

    def move(self, status: StepStatus, now_ms: int) -> None:
        """Go to a status, if the transition table lists it."""
        check_step(self.status, status)
        self.status = status
        self.path.append((status.value, now_ms))
        if status is StepStatus.STARTING:
            self.started_at = now_ms
        if status.is_terminal:
            self.ended_at = now_ms

    def count_anew(self) -> None:
        """Begin a new count of the ends of its runs: what was about to be told of earlier ones is in it."""
        self.tally = next(_tallies)

    @property
    def params_are_written(self) -> bool:
        """True if the params have not changed since they were last written."""
        return self._written is not None and self._written[0] is self.params

    def _params_text(self) -> str:
        # Params are replaced, never changed in place, and may be large: a loop writes its counts often.
        if self._written is None or self._written[0] is not self.params:
            text = dump({name: param.to_json() for name, param in self.params.items()})
            self._written = (self.params, text)
        return self._written[1]

    def to_row(self) -> dict[str, Any]:
        """All columns, as the database takes them."""
        return {
            "params": self._params_text(),
            **self.changes(),
        }

    def changes(self) -> dict[str, Any]:
        """All columns but the params."""
        return {
            "run": self.run,
            "step_id": self.id,
            "attempt_id": self.attempt_id,
            "uuid": self.uuid,
            "status": self.status.value,
            "carried": self.carried,
            "ending": self.ending and self.ending.value,
            "handle": _maybe(self.handle),
            "progress": _maybe(self.progress),
            "artifacts": _maybe(self.artifacts or None),
            "dependencies": _maybe(self.dependencies or None),
            "error": _maybe(self.error),
            "retries": dump(self.retries),
            "created_at": self.created_at,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "deadline_at": self.deadline_at,
            "wake_at": self.wake_at,
        }

    @classmethod
    def from_row(cls, row: Any, definition: Step) -> StepState:
        """The attempt that a row describes."""
        status = StepStatus(row.status)
        return cls(
            run=row.run,
            definition=definition,
            attempt_id=row.attempt_id,
            uuid=row.uuid,
            created_at=row.created_at,
            status=status,
            stored=status,
            carried=row.carried,
            ending=None if row.ending is None else StepStatus(row.ending),
            params=params_from_text(row.params),
            handle=_loaded(row.handle),
            progress=_loaded(row.progress),
            artifacts=_loaded(row.artifacts) or {},
            dependencies=_loaded(row.dependencies) or [],
            error=_loaded(row.error),
            retries=_loaded(row.retries),
            started_at=row.started_at,
            ended_at=row.ended_at,
            deadline_at=row.deadline_at,
            wake_at=row.wake_at,
        )


def params_from_text(text: str) -> dict[str, EvaluatedParam]:
    """Evaluated params as the database keeps them."""
    return {name: EvaluatedParam.from_json(name, document) for name, document in json.loads(text).items()}


def _maybe(document: Any) -> str | None:
    return None if document is None else dump(document)


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
