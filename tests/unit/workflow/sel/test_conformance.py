"""Expressions with the answers that Maestro's own SEL gives to them; `error` stands for any error."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from calve.workflow.sel import SelError, evaluate

_LINES = Path(__file__).with_name("conformance.jsonl").read_text("utf-8").splitlines()
PARAMS = json.loads(_LINES[0])["params"]
CASES = [json.loads(line) for line in _LINES[1:]]
_CHUNK = 100

pytestmark = pytest.mark.slow


def _answer(expression: str) -> dict[str, Any]:
    try:
        result = evaluate(expression, PARAMS)
    except SelError:
        return {"expr": expression, "error": True}
    value = result.value
    if isinstance(value, float) and not math.isfinite(value):
        value = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return {"expr": expression, "type": result.type, "value": value}


@pytest.mark.parametrize("start", range(0, len(CASES), _CHUNK))
def test_expressions_give_what_maestro_gives(start: int) -> None:
    expected = CASES[start : start + _CHUNK]
    assert [_answer(case["expr"]) for case in expected] == expected
