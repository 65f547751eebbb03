"""A run as people see it."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from calve.cli.step_tree import duration, follow_run, run_tree, style_of


def summary(status: str, **steps: Any) -> dict[str, Any]:
    return {"workflow_id": "wf", "instance_id": 7, "run_id": 1, "status": status, "steps": steps}


def shown(renderable: Any) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(renderable)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_tree_has_status_duration_progress_and_errors() -> None:
    text = shown(
        run_tree(
            summary(
                "IN_PROGRESS",
                load={"status": "SUCCEEDED", "started_at": 0, "ended_at": 1500, "attempt_id": 1},
                send={
                    "status": "RUNNING",
                    "attempt_id": 2,
                    "progress": {"fraction": 0.25, "message": "1 of 4"},
                },
                end={
                    "status": "FATALLY_FAILED",
                    "error": {"code": "X", "message": "broke [red]", "remedy": "mend it"},
                },
            )
        )
    )
    assert "wf · instance 7 · run 1" in text
    assert "✓ load  SUCCEEDED  1.5 s" in text
    assert "▸ send  RUNNING  attempt 2  25% 1 of 4" in text
    assert "✗ end  FATALLY_FAILED" in text
    assert "broke [red] [X]" in text
    assert "mend it" in text


def test_without_a_terminal_every_change_is_a_line() -> None:
    out = StringIO()
    changes = [
        summary("IN_PROGRESS", a={"status": "RUNNING"}, b={"status": "NOT_CREATED"}),
        summary("IN_PROGRESS", a={"status": "RUNNING"}, b={"status": "NOT_CREATED"}),
        summary("SUCCEEDED", a={"status": "SUCCEEDED"}, b={"status": "SUCCEEDED"}),
    ]
    assert follow_run(Console(file=out, width=120), changes) == changes[-1]
    assert out.getvalue().splitlines() == [
        "▸ a  RUNNING",
        "✓ a  SUCCEEDED",
        "✓ b  SUCCEEDED",
        "✓ wf · instance 7  SUCCEEDED",
    ]


def test_on_a_terminal_the_tree_is_live() -> None:
    out = StringIO()
    console = Console(file=out, width=120, force_terminal=True)
    changes = [summary("IN_PROGRESS", a={"status": "RUNNING"}), summary("FAILED", a={"status": "TIMED_OUT"})]
    assert follow_run(console, changes)["status"] == "FAILED"
    assert "TIMED_OUT" in out.getvalue()


@pytest.mark.parametrize(
    ("started", "ended", "expected"),
    [(None, None, ""), (0, 1230, "1.2 s"), (0, 125_000, "2 min 5 s"), (0, 7_500_000, "2 h 5 min")],
)
def test_durations_are_short(started: int | None, ended: int | None, expected: str) -> None:
    assert duration(started, ended) == expected


def test_every_failure_is_red() -> None:
    assert {style_of(status) for status in ("FAILED", "FATALLY_FAILED", "USER_FAILED", "TIMED_OUT")} == {
        "red"
    }
