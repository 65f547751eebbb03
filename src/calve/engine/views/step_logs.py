"""Logs of attempts: pieces of a file by their place in it, so that following costs what is new."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from calve.engine.model.statuses import StepStatus
from calve.engine.places import attempt_place
from calve.engine.views.documents import Json
from calve.engine.views.inner_steps import find_inner_step
from calve.engine.views.lookup import LATEST
from calve.engine.views.steps import instance_step, step_attempt
from calve.errors import UsageError
from calve.settings import Settings
from calve.steps.contract import LOG_FILE

CHUNK = 256 * 1024
TAIL_BYTES = 1024 * 1024
_CONTINUES = 0b1100_0000
_LEADS = 0b1000_0000


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which attempt, and which part of its log."""

    workflow_id: str
    instance_id: int
    step_id: str
    #: None: the newest run that has the step.
    run_id: str | int | None = None
    attempt: str | int = LATEST
    offset: int = 0
    #: The last so many lines instead of a place.
    tail: int | None = None


def read_log(connection: Connection, settings: Settings, request: LogRequest) -> Json:
    """A piece of a log: `text` from `offset` on, and `next_offset` to go on from.

    `complete` is true once the attempt is over and all of its log is read.
    """
    if request.offset < 0 or (request.tail is not None and request.tail < 0):
        raise UsageError("LOG_PLACE_INVALID", "found a number below 0", "give an offset or a tail from 0 on")
    attempt = _attempt(connection, request)
    status = StepStatus(attempt["runtime_state"]["status"])
    file = _log_file(settings, attempt)
    offset = request.offset if request.tail is None else _tail_offset(file, request.tail)
    text, end, size = _read_piece(file, offset, is_over=status.is_terminal)
    return {
        "workflow_id": request.workflow_id,
        "instance_id": request.instance_id,
        "run_id": attempt["workflow_run_id"],
        "step_id": request.step_id,
        "attempt_id": attempt["step_attempt_id"],
        "status": status.value,
        "text": text,
        "offset": offset,
        "next_offset": end,
        "size": size,
        "complete": status.is_terminal and end >= size,
    }


def _attempt(connection: Connection, request: LogRequest) -> Json:
    workflow_id, instance_id, step_id = find_inner_step(
        connection, request.workflow_id, request.instance_id, request.step_id
    )
    if request.run_id is None and request.attempt == LATEST:
        return instance_step(connection, workflow_id, instance_id, step_id)
    run_id = LATEST if request.run_id is None else request.run_id
    return step_attempt(connection, workflow_id, instance_id, run_id, step_id, request.attempt)


def _log_file(settings: Settings, attempt: Json) -> Path:
    place = attempt_place(
        settings,
        attempt["workflow_id"],
        attempt["workflow_instance_id"],
        attempt["workflow_run_id"],
        attempt["step_id"],
        attempt["step_attempt_id"],
    )
    return place / LOG_FILE


def _read_piece(file: Path, offset: int, is_over: bool) -> tuple[str, int, int]:
    """The text of one piece, where it ends, and the size of the file; a file may not be there yet."""
    try:
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(min(offset, size))
            start = stream.tell()
            content = stream.read(CHUNK)
    except FileNotFoundError:
        return "", 0, 0
    whole = content if is_over and start + len(content) >= size else content[: _whole_characters(content)]
    return whole.decode("utf-8", errors="replace"), start + len(whole), size


def _whole_characters(content: bytes) -> int:
    """How many bytes there are without a character that is cut at the end."""
    for back in range(1, min(4, len(content)) + 1):
        byte = content[-back]
        if byte & _CONTINUES == _CONTINUES:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(content) - back if back < length else len(content)
        if not byte & _LEADS:
            break
    return len(content)


def _tail_offset(file: Path, lines: int) -> int:
    """Where the last lines begin; of a log without line ends, at most its last part."""
    try:
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            start = max(0, size - TAIL_BYTES)
            stream.seek(start)
            content = stream.read(TAIL_BYTES)
    except FileNotFoundError:
        return 0
    if lines == 0:
        return start + len(content)
    place = len(content.removesuffix(b"\n"))
    for _ in range(lines):
        place = content.rfind(b"\n", 0, place)
        if place < 0:
            return start
    return start + place + 1
