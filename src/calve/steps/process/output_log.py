"""Outputs that a job prints into its log, between two tokens that only this attempt knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from calve.errors import UsageError

#: What a job may give back in all, in its log or in its file.
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024

_TAIL_BYTES = 16 * 1024
_TAIL_LINES = 20
_TAIL_LINE_CHARS = 500


@dataclass(frozen=True, slots=True)
class OutputTokens:
    """What a job prints before and after its outputs."""

    start: str
    end: str

    @classmethod
    def of(cls, attempt_uuid: str) -> OutputTokens:
        """The tokens of an attempt: the same after a crash, and in no other log."""
        return cls(f"calve-output-start-{attempt_uuid}", f"calve-output-end-{attempt_uuid}")


def output_too_big() -> UsageError:
    """The error of a job that gives back too much."""
    return UsageError(
        "STEP_OUTPUT_TOO_BIG",
        f"the outputs of the job have more than {MAX_OUTPUT_BYTES:,} bytes",
        "give back less, and keep big results in a table or a file",
    )


def find_outputs(log: Path, tokens: OutputTokens) -> list[bytes]:
    """What stands between the tokens in a log of any size, in its order; little memory is used."""
    try:
        with log.open("rb") as stream:
            return list(_blocks(stream, tokens.start.encode(), tokens.end.encode()))
    except FileNotFoundError:
        return []


def _blocks(stream: BinaryIO, start: bytes, end: bytes) -> Iterator[bytes]:
    """All texts between a `start` that begins a line and an `end`; one that has no end is an error."""
    # A job that prints its environment prints the tokens too, but not at the beginning of a line.
    start = b"\n" + start
    buffer = bytearray(b"\n")
    inside = False
    taken = 0
    while chunk := stream.read(_CHUNK_BYTES):
        buffer += chunk
        while (place := buffer.find(end if inside else start)) >= 0:
            if inside:
                taken += place
                if taken > MAX_OUTPUT_BYTES:
                    raise output_too_big()
                yield bytes(buffer[:place])
            del buffer[: place + len(end if inside else start)]
            inside = not inside
        if not inside:
            # The start may be cut in two by the end of this chunk.
            del buffer[: max(0, len(buffer) - len(start) + 1)]
        elif taken + len(buffer) > MAX_OUTPUT_BYTES + len(end):
            raise output_too_big()
    if inside:
        raise UsageError(
            "STEP_OUTPUT_INVALID",
            "the log has MAESTRO_OUTPUT_START, and no MAESTRO_OUTPUT_END after it",
            "print both tokens around the outputs",
        )


def tail(log: Path) -> str:
    """The last lines of a log, for an error: text, whatever the job wrote."""
    try:
        with log.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _TAIL_BYTES))
            text = stream.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(_clipped(line) for line in lines[-_TAIL_LINES:])


def _clipped(line: str) -> str:
    return line if len(line) <= _TAIL_LINE_CHARS else "…" + line[-_TAIL_LINE_CHARS:]
