"""What a job gives back: by the file that `CALVE_OUTPUT` names, or in its log as a job of Maestro does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calve.errors import UsageError
from calve.steps.contract import LOG_FILE, SignalToSend
from calve.steps.process.environment import OUTPUT_FILE
from calve.steps.process.output_log import MAX_OUTPUT_BYTES, OutputTokens, find_outputs, output_too_big
from calve.workflow.params import outputs_from_json

_SIGNALS_KEY = "maestro_dynamic_output"
_RETRY_KEY = "maestro_retry"


@dataclass(frozen=True, slots=True)
class JobOutput:
    """All that a job gave back."""

    params: Mapping[str, Any] = field(default_factory=dict)
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    signals: tuple[SignalToSend, ...] = ()

    @property
    def retryable(self) -> bool:
        """False if the job says that trying again cannot help."""
        verdict = self.artifacts.get(_RETRY_KEY)
        return not (isinstance(verdict, Mapping) and verdict.get("retryable") is False)


def read_output(folder: Path, attempt_uuid: str) -> JobOutput:
    """What the job of this folder gave back; what is in the file goes above what is in the log."""
    params: dict[str, Any] = {}
    artifacts: dict[str, Any] = {}
    for block in find_outputs(folder / LOG_FILE, OutputTokens.of(attempt_uuid)):
        document = _object(_parsed(block, "in the log"), "the output in the log")
        params |= {
            name: param.value for name, param in outputs_from_json(document.get("params") or {}).items()
        }
        artifacts |= _object(document.get("artifacts") or {}, "'artifacts' in the log")
    params |= _from_file(folder / OUTPUT_FILE)
    return JobOutput(params, artifacts, _signals(artifacts))


def _from_file(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_OUTPUT_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _invalid(f"the file of CALVE_OUTPUT cannot be read: {error.strerror}") from error
    if len(content) > MAX_OUTPUT_BYTES:
        raise output_too_big()
    return _object(_parsed(content, "in the file of CALVE_OUTPUT"), "the output file") if content else {}


def _signals(artifacts: Mapping[str, Any]) -> tuple[SignalToSend, ...]:
    dynamic = _object(artifacts.get(_SIGNALS_KEY) or {}, f"'{_SIGNALS_KEY}'")
    found = dynamic.get("signal_outputs") or []
    if not isinstance(found, list):
        raise _invalid(f"'signal_outputs' is a {type(found).__name__}, not a list")
    return tuple(_signal(_object(item, "a signal output")) for item in found)


def _signal(document: Mapping[str, Any]) -> SignalToSend:
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise _invalid("a signal output has no name")
    params = {
        key: _signal_param(name, key, item)
        for key, item in _object(document.get("params") or {}, f"'params' of signal '{name}'").items()
    }
    return SignalToSend(name, params, _object(document.get("payload") or {}, f"'payload' of signal '{name}'"))


def _signal_param(signal: str, name: str, item: object) -> str | int:
    """A string or a number, as it is or in Maestro's form."""
    value = item.get("evaluated_result", item.get("value")) if isinstance(item, Mapping) else item
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    raise _invalid(f"param '{name}' of signal '{signal}' is neither a string nor a whole number")


def _parsed(text: bytes, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"the output {where} is not JSON: {error}") from error


def _object(value: object, what: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise _invalid(f"{what} is a {type(value).__name__}, not an object")


def _invalid(message: str) -> UsageError:
    return UsageError("STEP_OUTPUT_INVALID", message, 'write {"name": value, …} as JSON')
