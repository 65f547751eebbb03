"""Random workflows under random actions, with engines that go and come: nothing gets stuck.

Whatever is done in whatever order, every instance comes to an end once its steps are let go, every attempt
has gone only where the transition table lets it, and no permit is left behind.
"""

from __future__ import annotations

import itertools
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from calve.engine.model.commands import Command
from calve.engine.model.requests import RestartPolicy, Started
from calve.engine.model.statuses import StepStatus
from calve.engine.model.transitions import STEP_TRANSITIONS
from calve.errors import CalveError
from calve.state.database import Database
from calve.state.orchestration import runs, steps
from support.engine_probe import GATES
from support.engine_runs import AUTHOR, SOON, EngineRuns, Job, flow, foreach, noop, probe, sub
from support.states import place_state

MODES = ["fail_after_running", "fail_immediately", "ignore_failure"]
WORDS = [
    "DONE",
    "DONE",
    "FATAL_ERROR",
    "USER_ERROR",
    "PLATFORM_ERROR",
    "TIMED_OUT",
    "STOPPED",
    "SKIP_REST",
    "raise",
]
STRATEGIES = [1, 2, "strict_sequential", "first_only", "last_only", "serial_latest_only"]
POLICY = {"error_retry_limit": 1, "platform_retry_limit": 1, "timeout_retry_limit": 1, "backoff": SOON}
STEP_ACTIONS = ["STEP_STOP", "STEP_KILL", "STEP_SKIP", "STEP_RESTART", "STEP_RESUME", "STEP_BYPASS"]
GATE_NAMES = ["now", "g1", "g2"]


@st.composite
def jobs(draw: st.DrawFn, name: str) -> Job:
    """A job of some kind."""
    kind = draw(st.sampled_from(["noop", "sleep", "probe", "probe", "probe", "foreach", "sub"]))
    mode = draw(st.sampled_from(MODES))
    waits = {"signal_dependencies": ["go"]} if draw(st.integers(0, 5)) == 0 else {}
    if kind == "noop":
        return noop(name, failure_mode=mode, **waits)
    if kind == "sleep":
        return {"job": {"id": name, "type": "Sleep", "sleep_seconds": 0}}
    if kind == "sub":
        return sub(name, "child", failure_mode=mode)
    plan = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
    job = probe(
        name if kind == "probe" else f"{name}_inner", *plan, gate=draw(st.sampled_from(GATE_NAMES)),
        failure_mode=mode, retry_policy=POLICY, tags=["limited"], **waits,
    )  # fmt: skip
    return job if kind == "probe" else foreach(name, {"x": [1, 2, 3]}, job, concurrency=2, failure_mode=mode)


@st.composite
def workflows(draw: st.DrawFn) -> dict[str, Any]:
    """A small workflow: edges lead from earlier jobs to later ones."""
    names = [f"s{number}" for number in range(draw(st.integers(1, 4)))]
    dag: dict[str, list[str]] = {}
    for one, other in itertools.combinations(names, 2):
        edge = draw(st.sampled_from(["", other, f"IF 1 > 2 THEN {other}"]))
        if edge:
            dag.setdefault(one, []).append(edge)
    made = [draw(jobs(name)) for name in names]
    return flow(*made, dag=dag, run_strategy=draw(st.sampled_from(STRATEGIES)), step_concurrency=2)


class Interleavings(RuleBasedStateMachine):
    """Actions in any order; the end is checked in `teardown`."""

    def __init__(self) -> None:
        super().__init__()
        GATES.reset()
        self._folder = tempfile.TemporaryDirectory()
        home = Path(self._folder.name)
        self.database = Database(place_state(home))
        self.calve = EngineRuns(home, self.database)
        self.calve.start_engine()
        self.started: dict[int, Started] = {}

    @initialize(workflow=workflows(), child=st.sampled_from(WORDS))
    def push(self, workflow: dict[str, Any], child: str) -> None:
        self.calve.calve.set_permit("limited", 1)
        inner = probe("inner", child, gate="g1", retry_policy=POLICY, tags=["limited"])
        self.calve.push(flow(inner, id="child", run_strategy=2))
        self.calve.push(workflow)
        self.steps = [next(iter(job.values()))["id"] for job in workflow["Workflow"]["jobs"]]
        self.start()

    @rule()
    def start(self) -> None:
        made = self.calve.start("w")
        self.started[made.instance_id] = made

    @rule(data=st.data(), kill=st.booleans())
    def end(self, data: st.DataObject, kill: bool) -> None:
        self._try(lambda one: self.calve.calve.end_instance("w", one, AUTHOR, kill=kill), data)

    @rule(data=st.data(), policy=st.sampled_from(list(RestartPolicy)[:2]))
    def restart(self, data: st.DataObject, policy: RestartPolicy) -> None:
        self._try(lambda one: self.calve.restart(self.started[one], policy=policy), data)

    @rule(data=st.data(), paused=st.booleans())
    def pause(self, data: st.DataObject, paused: bool) -> None:
        self._try(lambda one: self.calve.calve.pause_instance("w", one, AUTHOR, paused), data)

    @rule(data=st.data(), kind=st.sampled_from(STEP_ACTIONS))
    def act(self, data: st.DataObject, kind: str) -> None:
        step = data.draw(st.sampled_from(self.steps))
        self._try(lambda one: self.calve.calve.act_on_step(Command(kind), "w", one, step, AUTHOR), data)

    @rule(paused=st.booleans())
    def pause_workflow(self, paused: bool) -> None:
        if paused:
            self.calve.calve.pause("w", AUTHOR)
        else:
            self.calve.calve.resume("w", AUTHOR)

    @rule(gate=st.sampled_from(GATE_NAMES))
    def open(self, gate: str) -> None:
        GATES.open(gate)

    @rule()
    def signal(self) -> None:
        self.calve.calve.send_signal("go", {}, {}, None)

    @rule()
    def replace_engine(self) -> None:
        self.calve.engine.stop()
        self.calve.start_engine()

    @rule()
    def settle(self) -> None:
        """Let the engine do what it has to do so far."""
        self.calve.run(flow(noop("a"), id="other"))

    def _try(self, action: Any, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(sorted(self.started)))
        # What is not possible now is refused, and that is all that happens.
        with suppress(CalveError):
            action(one)

    def teardown(self) -> None:
        try:
            if self.started:
                self._let_go()
                self._check()
        finally:
            self.calve.engine.stop()
            self.database.close()
            self._folder.cleanup()

    def _let_go(self) -> None:
        """Take away all that may hold a step, so that everything can come to its end."""
        for gate in GATE_NAMES:
            GATES.open(gate)
        self.calve.calve.send_signal("go", {}, {}, None)
        self.calve.calve.resume("w", AUTHOR)
        self.calve.until(self._is_over, self._say)

    def _is_over(self) -> bool:
        live = [row for row in self.calve.rows(runs) if row.status in ("CREATED", "IN_PROGRESS")]
        for row in [row for row in live if row.paused and not row.inline]:
            # It may have ended meanwhile.
            with suppress(CalveError):
                self.calve.calve.pause_instance(row.workflow_id, row.instance_id, AUTHOR, False)
        if live and any(row.blocking for row in self.calve.rows(runs)):
            self.calve.calve.unblock("w")
        return not live

    def _say(self) -> str:
        stuck = [
            (row.id, row.workflow_id, row.status, row.owner)
            for row in self.calve.rows(runs)
            if not row.ended_at
        ]
        return f"{stuck} {[(row.run, row.step_id, row.status, row.ending) for row in self.calve.rows(steps)]}"

    def _check(self) -> None:
        assert self.calve.permits() == []
        for key, path in self.calve.paths().items():
            way = [StepStatus.NOT_CREATED, *map(StepStatus, path)]
            for before, after in itertools.pairwise(way):
                assert after in STEP_TRANSITIONS[before], f"{key}: {path}"
            assert way[-1].is_terminal, f"{key}: {path}"


@pytest.mark.slow
@pytest.mark.usefixtures("_probe_type")
def test_no_interleaving_leaves_a_run_that_does_not_go_on() -> None:
    chosen = settings(
        max_examples=30, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Interleavings, settings=chosen)
