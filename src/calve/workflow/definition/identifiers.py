"""The rules for ids and names."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from calve.workflow.definition.base import refuse
from calve.workflow.params.references import SEPARATOR

ID_LENGTH_LIMIT = 128
NAME_LENGTH_LIMIT = 256
TEXT_LENGTH_LIMIT = 16_384
RESERVED_PREFIX = "maestro_"
RESERVED_SUFFIX = "_maestro"

_WORKFLOW_ID = re.compile(r"[_a-zA-Z0-9][.\-_a-zA-Z0-9]*")
STEP_ID = re.compile(r"[_a-zA-Z][.\-_a-zA-Z0-9]*")
_TAG_NAME = re.compile(r"[\w .,:@&='(){}$+\[\]\-/\\]+", re.ASCII)


def workflow_id_fault(text: str) -> str | None:
    """What is wrong with the id of a workflow; None if nothing is."""
    if not _WORKFLOW_ID.fullmatch(text):
        return (
            "a workflow id is made of letters, digits, '.', '-' and '_', and begins with none of '.' and '-'"
        )
    if text.lower().endswith(RESERVED_SUFFIX):
        return f"a workflow id does not end in '{RESERVED_SUFFIX}', which is reserved"
    return _common_fault(text, "a workflow id")


def step_id_fault(text: str, noun: str = "a step id") -> str | None:
    """What is wrong with the id of a step or the name of a param; None if nothing is."""
    if not STEP_ID.fullmatch(text):
        return f"{noun} is made of letters, digits, '.', '-' and '_', and begins with a letter or '_'"
    if SEPARATOR in text:
        return f"{noun} does not contain '{SEPARATOR}', which stands between a step and its param"
    return _common_fault(text, noun)


def tag_name_fault(text: str) -> str | None:
    """What is wrong with the name of a tag; None if nothing is."""
    if len(text) > NAME_LENGTH_LIMIT:
        return f"the name of a tag has at most {NAME_LENGTH_LIMIT} characters"
    if not text.strip() or not _TAG_NAME.fullmatch(text):
        return "the name of a tag is made of letters, digits, spaces and .,:@&='(){}$+[]-/\\"
    lowered = text.lower()
    if lowered.startswith(RESERVED_PREFIX) or lowered.endswith(RESERVED_SUFFIX):
        return f"'{RESERVED_PREFIX}' and '{RESERVED_SUFFIX}' are reserved"
    return None


def _common_fault(text: str, noun: str) -> str | None:
    if len(text) > ID_LENGTH_LIMIT:
        return f"{noun} has at most {ID_LENGTH_LIMIT} characters, and this one has {len(text)}"
    if text.lower().startswith(RESERVED_PREFIX):
        return f"{noun} does not begin with '{RESERVED_PREFIX}', which is reserved"
    return None


def _workflow_id(text: str) -> str:
    if (fault := workflow_id_fault(text)) is not None:
        raise refuse("ID_INVALID", f"'{text}' is not a workflow id: {fault}")
    return text


def _step_id(text: str) -> str:
    if (fault := step_id_fault(text)) is not None:
        raise refuse("ID_INVALID", f"'{text}' is not a step id: {fault}")
    return text


def _at_most(limit: int) -> AfterValidator:
    def check(text: str) -> str:
        if len(text) > limit:
            raise refuse("TEXT_TOO_LONG", f"the text has {len(text)} characters", expected=f"at most {limit}")
        return text

    return AfterValidator(check)


WorkflowId = Annotated[str, AfterValidator(_workflow_id)]
StepId = Annotated[str, AfterValidator(_step_id)]
Name = Annotated[str, _at_most(NAME_LENGTH_LIMIT)]
Text = Annotated[str, _at_most(TEXT_LENGTH_LIMIT)]
