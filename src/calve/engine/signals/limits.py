"""What a signal may say: refused before anything of it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.engine.outbox import dump
from calve.engine.signals.encoding import LONG_MAX, LONG_MIN
from calve.errors import UsageError
from calve.steps.table_signals import check_valid_through

# Together with the encoding these keep every key of the index under what PostgreSQL can index.
NAME_BYTES = 512
PARAM_NAME_BYTES = 128
VALUE_BYTES = 512
PARAM_COUNT = 64
REQUEST_ID_BYTES = 512
PAYLOAD_CHARACTERS = 256_000


def check_signal(
    name: str, params: Mapping[str, Any], payload: Mapping[str, Any], request_id: str | None
) -> None:
    """Refuse a signal that cannot be kept."""
    _check_text("the name of a signal", name, NAME_BYTES)
    if request_id is not None:
        _check_text("the request_id of a signal", request_id, REQUEST_ID_BYTES)
    if len(params) > PARAM_COUNT:
        raise _refused(name, f"has {len(params)} params", f"send at most {PARAM_COUNT}")
    for param, value in params.items():
        _check_text(f"the name of a param of signal '{name}'", param, PARAM_NAME_BYTES)
        _check_value(name, param, value)
    check_valid_through(name, params)
    _check_payload(name, payload)


def _check_value(name: str, param: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        found = type(value).__name__
        raise _refused(name, f"has a param '{param}' of type {found}", "send a text or a whole number")
    if isinstance(value, int):
        if not LONG_MIN <= value <= LONG_MAX:
            raise _refused(name, f"has a param '{param}' of {value}", "send a number of 64 bits, or a text")
    elif (size := _bytes(value)) is None or size > VALUE_BYTES:
        raise _refused(
            name,
            f"has a param '{param}' " + ("that is no Unicode text" if size is None else f"of {size} bytes"),
            f"send at most {VALUE_BYTES} bytes of UTF-8, and the rest in the payload",
        )


def _check_payload(name: str, payload: Mapping[str, Any]) -> None:
    try:
        text = dump(payload)
        text.encode("utf-8")
    except (TypeError, ValueError) as error:
        raise _refused(name, f"has a payload that is no JSON: {error}", "send plain values") from error
    if len(text) > PAYLOAD_CHARACTERS:
        raise _refused(
            name,
            f"has a payload of {len(text)} characters",
            f"send at most {PAYLOAD_CHARACTERS}: keep large data in a table, and its name in the payload",
        )


def _check_text(what: str, text: Any, limit: int) -> None:
    size = _bytes(text) if isinstance(text, str) else None
    if size is None or not 0 < size <= limit or not text.isprintable():
        raise UsageError(
            "SIGNAL_INVALID",
            f"{what} is {str(text)[:40]!r}",
            f"give 1 to {limit} bytes of text without control characters",
        )


def _bytes(text: str) -> int | None:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return None


def _refused(name: str, found: str, remedy: str) -> UsageError:
    return UsageError("SIGNAL_INVALID", f"the signal '{name}' {found}", remedy)
