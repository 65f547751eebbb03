"""The examples of views in the description of the API have the form of real answers."""

from __future__ import annotations

import json
import os

import pytest
from fastapi.testclient import TestClient

from calve.engine.orchestrator import Orchestrator
from calve.server.examples import views
from calve.steps.incremental.shared import close_ledgers
from support.view_story import form, tell

pytestmark = pytest.mark.slow

#: Set to keep the answers as the examples, after a view has changed.
WRITE = "WRITE_VIEW_EXAMPLES"


def test_the_examples_are_what_views_answer(orchestrator: Orchestrator, twins: TestClient) -> None:
    answers = tell(orchestrator, twins)
    close_ledgers()
    if WRITE in os.environ:
        views.FILE.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n")
        pytest.fail("the examples are written anew: look at them, and run the test without the variable")
    assert list(answers) == list(views.ANSWERS)
    for name, answer in answers.items():
        assert form(answer) == form(views.ANSWERS[name]), f"{name}: set {WRITE}=1 to write it anew"
