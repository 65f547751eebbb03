"""foreach: its steps once for every combination of its loop params."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from calve.engine.core.batch import Batch
from calve.engine.core.composites.children import (
    ITERATIONS_LIMIT,
    count_children,
    earlier_children,
    keeps_earlier,
    launch,
    stop_children,
)
from calve.engine.core.run_state import RunState
from calve.engine.core.step_state import StepState
from calve.engine.model.statuses import RunStatus
from calve.steps.contract import Ending, Finished, Running
from calve.workflow.definition.properties import STEP_CONCURRENCY_DEFAULT
from calve.workflow.definition.steps import FailureMode, ForeachStep

if TYPE_CHECKING:
    from calve.engine.core.context import Core

ARTIFACT = "maestro_foreach"
LOOP_PARAMS = "loop_params"
#: Nothing is polled: the ends of iterations are what happens.
NEVER_S = 3_600.0


class Foreach:
    """Launches iterations up to its concurrency, in order; after a failure no new ones."""

    def start(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Launch the first iterations."""
        arrays = _arrays(step)
        total = math.prod(len(array) for array in arrays.values()) if arrays else 0
        if total > ITERATIONS_LIMIT:
            return Finished.failed(
                Ending.FATAL_ERROR,
                "FOREACH_TOO_LONG",
                f"the loop params make {total:,} iterations, and the limit is {ITERATIONS_LIMIT:,}",
                "split the loop, or loop over larger pieces",
            )
        step.handle = {"total": total, "next": 1, "active": 0, "ended": {}}
        return self._fill(core, batch, run, step)

    def resume(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        """Count by the database, and go on."""
        handle = _handle(step)
        step.count_anew()
        counts, failed = count_children(batch, run, step)
        launched = sum(counts.values())
        kept = _kept(core, batch, run, step, handle["next"] - 1) if keeps_earlier(run) else 0
        live = {RunStatus.CREATED.value, RunStatus.IN_PROGRESS.value}
        handle["active"] = sum(count for status, count in counts.items() if status in live)
        handle["ended"] = {status: count for status, count in counts.items() if status not in live}
        if kept:
            succeeded = RunStatus.SUCCEEDED.value
            handle["ended"][succeeded] = handle["ended"].get(succeeded, 0) + kept
        handle["next"] = launched + kept + 1
        if failed is not None:
            handle["failed"] = failed
        return self._fill(core, batch, run, step)

    def child_ended(
        self, core: Core, batch: Batch, run: RunState, step: StepState, instance_id: int, status: str
    ) -> Running | Finished:
        """Count it, and launch another one."""
        handle = _handle(step)
        handle["active"] -= 1
        handle["ended"][status] = handle["ended"].get(status, 0) + 1
        if status != RunStatus.SUCCEEDED.value and not handle.get("failed"):
            handle["failed"] = instance_id
            if step.definition.failure_mode is FailureMode.FAIL_IMMEDIATELY:
                stop_children(core, batch, run, step)
        return self._fill(core, batch, run, step)

    def stop(self, core: Core, batch: Batch, run: RunState, step: StepState) -> bool:
        """Ask the iterations to end."""
        return stop_children(core, batch, run, step) == 0

    def _fill(self, core: Core, batch: Batch, run: RunState, step: StepState) -> Running | Finished:
        handle = _handle(step)
        at_once = _concurrency(run, step)
        arrays = _arrays(step)
        before = earlier_children(core, batch, run, step)
        keeps = keeps_earlier(run)
        while handle["next"] <= handle["total"] and handle["active"] < at_once and _may_launch(step, handle):
            number = handle["next"]
            handle["next"] += 1
            if keeps and before.get(number, (0, ""))[1] == RunStatus.SUCCEEDED.value:
                handle["ended"][RunStatus.SUCCEEDED.value] = (
                    handle["ended"].get(RunStatus.SUCCEEDED.value, 0) + 1
                )
                continue
            handle["active"] += 1
            launch(core, batch, run, step, number, _combination(arrays, number - 1))
        if handle["active"] > 0:
            return Running(handle, progress=_progress(handle), poll_after_s=NEVER_S)
        return _outcome(handle)


def _kept(core: Core, batch: Batch, run: RunState, step: StepState, up_to: int) -> int:
    """How many iterations, up to a number, are not run again."""
    before = earlier_children(core, batch, run, step)
    return sum(
        1 for number, (_, status) in before.items() if number <= up_to and status == RunStatus.SUCCEEDED.value
    )


def _may_launch(step: StepState, handle: Mapping[str, Any]) -> bool:
    return step.ending is None and not handle.get("failed")


def _handle(step: StepState) -> dict[str, Any]:
    assert step.handle is not None
    return step.handle


def _arrays(step: StepState) -> Mapping[str, Sequence[Any]]:
    found: Mapping[str, Sequence[Any]] = step.params[LOOP_PARAMS].value
    return found


def _combination(arrays: Mapping[str, Sequence[Any]], index: int) -> dict[str, Any]:
    """The values of one iteration; the first param varies fastest."""
    values = {}
    for name, array in arrays.items():
        index, position = divmod(index, len(array))
        values[name] = array[position]
    return values


def _concurrency(run: RunState, step: StepState) -> int:
    assert isinstance(step.definition, ForeachStep)
    if step.definition.concurrency is not None:
        return step.definition.concurrency
    steps = run.properties.step_concurrency or STEP_CONCURRENCY_DEFAULT
    return min(steps, run.at_once or steps)


def _progress(handle: Mapping[str, Any]) -> dict[str, Any]:
    ended = sum(handle["ended"].values())
    return {
        "message": f"{ended} of {handle['total']} iterations",
        "fraction": ended / max(1, handle["total"]),
    }


def _outcome(handle: Mapping[str, Any]) -> Finished:
    ended: Mapping[str, int] = handle["ended"]
    artifacts = {ARTIFACT: {"total_loop_count": handle["total"], "overview": dict(ended)}}
    bad = {status: count for status, count in ended.items() if status != RunStatus.SUCCEEDED.value}
    if not bad and sum(ended.values()) == handle["total"]:
        return Finished.done(artifacts=artifacts)
    what = ", ".join(f"{count} {status}" for status, count in sorted(bad.items()))
    if set(bad) <= {RunStatus.STOPPED.value}:
        return Finished(Ending.STOPPED, artifacts=artifacts)
    return Finished.failed(
        Ending.FATAL_ERROR,
        "ITERATIONS_FAILED",
        f"of {handle['total']} iterations: {what}; the first was number {handle.get('failed')}",
        "look at that iteration; a restart runs only what is incomplete",
        artifacts=artifacts,
    )
