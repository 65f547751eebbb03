"""What a job finds around it: the environment, and its params and outputs as files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calve.settings import StepSettings
from calve.steps.contract import StepContext
from calve.steps.files import write_whole
from calve.steps.process.launching import MAX_STRING_BYTES
from calve.steps.process.output_log import OutputTokens

PARAMS_FILE = "params.json"
OUTPUT_FILE = "output.json"

#: The settings of the engine, which hold its secrets, are spelled like this in the environment.
_SETTINGS_PREFIX = "CALVE_"
_NOT_IN_A_NAME = re.compile(r"\W", re.ASCII)
#: All params together may take this much of the environment; the file has every one of them.
MAX_PARAMS_BYTES = 512 * 1024


def job_environment(context: StepContext, params: Mapping[str, Any]) -> dict[str, str]:
    """The environment of a job whose own params are `params`; it does not touch the disk."""
    tokens = OutputTokens.of(context.attempt_uuid)
    return {
        **_inherited(context.settings.steps),
        **param_variables(params),
        "CALVE_HOME": str(context.settings.home),
        "CALVE_WORKFLOW_ID": context.workflow_id,
        "CALVE_INSTANCE_ID": str(context.instance_id),
        "CALVE_RUN_ID": str(context.run_id),
        "CALVE_STEP_ID": context.step_id,
        "CALVE_ATTEMPT_ID": str(context.attempt_id),
        "CALVE_ATTEMPT_UUID": context.attempt_uuid,
        "CALVE_PARAMS": str(context.place.absolute() / PARAMS_FILE),
        "CALVE_OUTPUT": str(context.place.absolute() / OUTPUT_FILE),
        "MAESTRO_OUTPUT_START": tokens.start,
        "MAESTRO_OUTPUT_END": tokens.end,
    }


def write_params(folder: Path, params: Mapping[str, Any]) -> Path:
    """The file that `CALVE_PARAMS` names."""
    return write_whole(folder / PARAMS_FILE, json.dumps(dict(params), ensure_ascii=False))


def param_variables(params: Mapping[str, Any]) -> dict[str, str]:
    """`CALVE_PARAM_<name>` for each param that fits: text as it is, anything else as JSON."""
    variables: dict[str, str] = {}
    room = MAX_PARAMS_BYTES
    for name, value in params.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        variable = "CALVE_PARAM_" + _NOT_IN_A_NAME.sub("_", name)
        size = len(variable) + 1 + len(text.encode("utf-8", errors="surrogateescape"))
        if "\0" not in text and size <= min(room, MAX_STRING_BYTES):
            room -= size
            variables[variable] = text
    return variables


def _inherited(settings: StepSettings) -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in settings.pass_environment
        or not (name.startswith(_SETTINGS_PREFIX) or name in settings.hide_environment)
    }
