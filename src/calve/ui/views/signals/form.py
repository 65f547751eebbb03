"""What people type to send a signal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from calve.errors import UsageError
from calve.server.json_bodies import check_json
from calve.workflow.params.texts import signal_value_from_text

#: The fields of the form, empty.
NO_SIGNAL: Mapping[str, str] = {"name": "", "params": "", "payload": "", "request_id": ""}


def read_signal(typed: Mapping[str, str]) -> tuple[str, dict[str, str | int], dict[str, Any]]:
    """Name, params and payload. Params stand one a line, as name=value; the payload is a JSON object."""
    return typed.get("name", "").strip(), _params(typed.get("params", "")), _payload(typed.get("payload", ""))


def _params(text: str) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, separator, value = line.partition("=")
        if not separator or not name.strip():
            raise UsageError(
                "ASSIGNMENT_INVALID", f"found the param '{line}'", "write params as name=value, one a line"
            )
        found[name.strip()] = signal_value_from_text(value.strip())
    return found


def _payload(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        check_json(text.encode())
        value = json.loads(text)
    except ValueError as error:
        raise _no_object(f"it is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise _no_object(f"it is a {type(value).__name__}")
    return value


def _no_object(found: str) -> UsageError:
    return UsageError("PAYLOAD_INVALID", f"the payload is no JSON object: {found}", 'write {"name": value}')
