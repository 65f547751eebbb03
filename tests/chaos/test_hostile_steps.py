"""Steps that ignore cancel, print without end or take huge params; and a clock that jumps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from calve.engine.core.engine import Engine
from calve.engine.model.requests import StartRequest
from calve.engine.model.statuses import StepStatus
from calve.engine.places import attempt_place
from calve.errors import UsageError
from calve.steps.contract import LOG_FILE
from calve.workflow.params import ParamDefinition, ParamType
from support.workers import Site, site, until

S = StepStatus
DAY_S = 86_400


@pytest.fixture
def here(home: Path) -> Iterator[Site]:
    """A home with an engine in this process."""
    with site(home) as made:
        engine = Engine(made.orchestrator.settings, made.orchestrator.database)
        engine.start()
        yield made
        engine.stop()


def shell(script: str) -> str:
    job = f"        id: it\n        type: Shell\n        script: |\n          {script}\n"
    return f"Workflow:\n  id: w\n  jobs:\n    - job:\n{job}"


@pytest.mark.slow
def test_a_step_that_ignores_cancel_is_ended_by_force(here: Site) -> None:
    here.push(shell(f"trap '' TERM; echo $$$$ > {here.home}/pid; while true; do sleep 0.1; done"))
    instance = here.start("w")
    pid = int(until(lambda: _text(here.home / "pid")))
    here.until_step("w", instance, "it", S.RUNNING)
    here.orchestrator.end_instance("w", instance, "tests")
    over = here.until_over("w", instance)
    assert over["status"] == "STOPPED"
    assert over["steps"]["it"]["status"] == "STOPPED"
    assert not _runs(pid)


def test_ten_megabytes_in_one_line_are_a_log_and_nothing_else(here: Site) -> None:
    here.push(shell("head -c 10000000 /dev/zero | tr '\\\\0' x"))
    instance = here.start("w")
    assert here.until_over("w", instance)["status"] == "SUCCEEDED"
    place = attempt_place(here.orchestrator.settings, "w", instance, 1, "it", 1)
    assert (place / LOG_FILE).stat().st_size >= 10_000_000


def test_a_param_of_a_megabyte_is_refused_at_the_start(here: Site) -> None:
    here.push("Workflow:\n  id: w\n  jobs:\n    - job: {id: it, type: NoOp}\n")
    huge = ParamDefinition(name="huge", type=ParamType.STRING, value="x" * 1_000_000)
    with pytest.raises(UsageError) as refused:
        here.orchestrator.start(StartRequest(workflow_id="w", params={"huge": huge}))
    assert refused.value.code == "PARAM_SIZE"
    # Nothing is left of it: the next start is the first instance.
    assert here.start("w") == 1


@pytest.mark.parametrize("jump_s", [DAY_S * 30, -DAY_S * 30], ids=["forward", "back"])
def test_a_clock_that_jumps_ends_no_step_and_holds_none(
    here: Site, jump_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.push(shell(f"until [ -e {here.home}/go ]; do sleep 0.05; done"))
    instance = here.start("w")
    here.until_step("w", instance, "it", S.RUNNING)
    real, real_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: real() + jump_s)
    monkeypatch.setattr(time, "time_ns", lambda: real_ns() + jump_s * 1_000_000_000)
    second = here.start("w")
    (here.home / "go").touch()
    assert here.until_over("w", instance)["status"] == "SUCCEEDED"
    assert here.until_over("w", second)["status"] == "SUCCEEDED"


def _runs(pid: int) -> bool:
    """False also for a process that has ended, and that nobody has asked for its end yet."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _text(file: Path) -> str | None:
    return file.read_text().strip() or None if file.exists() else None
