"""The page about the engine says what the engine does."""

from __future__ import annotations

from pathlib import Path

from calve.engine.model.commands import Command
from calve.engine.model.statuses import RunStatus
from calve.engine.model.transitions import transitions_table
from calve.workflow.definition.run_strategy import Rule

PAGE = (Path(__file__).parents[3] / "docs" / "engine.md").read_text("utf-8")


def test_the_table_of_transitions_is_the_one_that_is_checked() -> None:
    assert transitions_table() in PAGE


def test_the_page_names_every_status_of_a_run_and_every_strategy() -> None:
    assert [status.value for status in RunStatus if f"| {status.value} |" not in PAGE] == []
    assert [rule.value for rule in Rule if f"| `{rule.value.lower()}` |" not in PAGE] == []


def test_the_page_names_every_action() -> None:
    actions = {kind.removeprefix("STEP_").lower() for kind in Command if kind is not Command.CHILD_ENDED}
    known = {Command.STOP, Command.KILL, Command.PAUSE, Command.RESUME}
    assert {name.lower() for name in known} <= actions
    assert [name for name in sorted(actions) if name not in PAGE] == []
