"""foreach and while: order, values, failures, nesting, restarts."""

from __future__ import annotations

import pytest

from calve.engine.core import context
from calve.workflow.params import ParamDefinition
from support.engine_probe import GATES
from support.engine_runs import EngineRuns, Run, flow, foreach, noop, probe, while_


def values(children: list[Run], *names: str) -> list[tuple[object, ...]]:
    """The params of iterations."""
    return [tuple(child.params[name] for name in names) for child in children]


def test_foreach_runs_the_product_and_the_first_param_varies_fastest(on_both: EngineRuns) -> None:
    loop = foreach("loop", {"x": [1, 2], "y": ["a", "b", "c"]}, noop("inner", seen="$x$y"))
    run = on_both.run(flow(loop))
    children = on_both.children(run, "loop")
    assert run.status == "SUCCEEDED"
    assert values(children, "x", "y", "loop_index") == [
        (1, "a", 0), (2, "a", 1), (1, "b", 2), (2, "b", 3), (1, "c", 4), (2, "c", 5),
    ]  # fmt: skip
    assert [child.instance_id for child in children] == [1, 2, 3, 4, 5, 6]
    assert [child.steps["inner"].params["seen"] for child in children] == ["1a", "2a", "1b", "2b", "1c", "2c"]


def test_a_foreach_over_nothing_is_done_at_once(on_sqlite: EngineRuns) -> None:
    nothing = {"x": [1], "!y<array<long>>": "Util.intsBetween(0, 0, 1);"}
    run = on_sqlite.run(flow(foreach("loop", nothing, noop("inner")), noop("b"), dag="sequential"))
    assert run.statuses == {"loop": "SUCCEEDED", "b": "SUCCEEDED"}
    assert on_sqlite.children(run, "loop") == []


def test_more_iterations_than_the_limit_are_refused(on_sqlite: EngineRuns) -> None:
    wide = {
        "!x<array<long>>": "Util.intsBetween(0, 159, 1);",
        "!y<array<long>>": "Util.intsBetween(0, 158, 1);",
    }
    run = on_sqlite.run(flow(foreach("loop", wide, noop("inner"))))
    assert run.code("loop") == "FOREACH_TOO_LONG"
    assert on_sqlite.children(run, "loop") == []


def test_after_a_failed_iteration_no_new_ones_begin_and_running_ones_end(on_sqlite: EngineRuns) -> None:
    inner = probe("inner", "${how}", gate="g$x", expr__how="x == 2 ? 'FATAL_ERROR' : 'DONE'")
    started = on_sqlite.start(flow(foreach("loop", {"x": [1, 2, 3, 4]}, inner, concurrency=2)))
    on_sqlite.until(lambda: GATES.starts["inner"] == 2)
    on_sqlite.open("g2")
    on_sqlite.until(lambda: on_sqlite.children(started, "loop")[1].status == "FAILED")
    on_sqlite.open("g1")
    run = on_sqlite.finished(started)
    assert [child.status for child in on_sqlite.children(run, "loop")] == ["SUCCEEDED", "FAILED"]
    assert run.statuses == {"loop": "FATALLY_FAILED"}
    assert run.code("loop") == "ITERATIONS_FAILED"
    assert run.status == "FAILED"


def test_fail_immediately_ends_the_iterations_that_run(on_sqlite: EngineRuns) -> None:
    inner = probe("inner", "${how}", gate="g$x", expr__how="x == 2 ? 'FATAL_ERROR' : 'DONE'")
    loop = foreach("loop", {"x": [1, 2, 3]}, inner, concurrency=2, failure_mode="fail_immediately")
    started = on_sqlite.start(flow(loop))
    on_sqlite.until(lambda: GATES.starts["inner"] == 2)
    on_sqlite.open("g2")
    run = on_sqlite.finished(started)
    assert [child.status for child in on_sqlite.children(run, "loop")] == ["STOPPED", "FAILED"]
    assert run.status == "FAILED"


def test_a_restart_runs_only_the_iterations_that_are_incomplete(on_both: EngineRuns) -> None:
    inner = probe("inner", "${how}", expr__how="x == 2 && !again ? 'FATAL_ERROR' : 'DONE'")
    loop = foreach("loop", {"x": [1, 2, 3]}, noop("first"), inner, concurrency=1, dag="sequential")
    on_both.push(flow(loop, again=False))
    failed = on_both.run("w")
    assert failed.status == "FAILED"
    starts = GATES.starts["inner"]
    run = on_both.rerun(failed, params={"again": ParamDefinition.infer("again", True)})
    assert run.status == "SUCCEEDED"
    assert run.run_id == 2
    assert GATES.starts["inner"] - starts == 2
    done = on_both.children(run, "loop")
    assert [(child.instance_id, child.run_id, child.status) for child in done] == [
        (2, 2, "SUCCEEDED"),
        (3, 1, "SUCCEEDED"),
    ]
    assert done[0].steps["first"].carried
    assert not done[0].steps["inner"].carried


def test_nested_foreach_sees_the_params_around_it(on_sqlite: EngineRuns) -> None:
    deep = foreach("deep", {"y": [10, 20]}, noop("inner", seen="$region-$x-$y-${before__rows}"))
    loop = foreach("loop", {"x": [1, 2]}, deep)
    run = on_sqlite.run(flow(noop("before", rows=7), loop, dag="sequential", region="eu"))
    assert run.status == "SUCCEEDED"
    outer = on_sqlite.children(run, "loop")
    seen = [child.steps["inner"].params["seen"] for one in outer for child in on_sqlite.children(one, "deep")]
    assert seen == ["eu-1-10-7", "eu-1-20-7", "eu-2-10-7", "eu-2-20-7"]


def test_foreach_values_come_back_in_the_order_of_iterations(on_sqlite: EngineRuns) -> None:
    loop = foreach("loop", {"x": [3, 1, 2]}, noop("inner", **{"!square<long>": "x * x;"}))
    after = noop("after", **{"!all<array<long>>": "params.getFromForeach('loop', 'inner', 'square');"})
    run = on_sqlite.run(flow(loop, after, dag="sequential"))
    assert run.steps["after"].params["all"] == [9, 1, 4]


def test_while_carries_values_over_and_ends_when_its_condition_is_false(on_both: EngineRuns) -> None:
    body = (noop("grow", **{"!n<long>": "n + 1;"}), noop("square", **{"!total<long>": "total + n * n;"}))
    loop = while_("loop", "n < limit", {"n": 0, "total": 0}, *body, dag="sequential")
    run = on_both.run(flow(loop, noop("after"), dag="sequential", limit=3))
    children = on_both.children(run, "loop")
    assert run.statuses == {"loop": "SUCCEEDED", "after": "SUCCEEDED"}
    assert values(children, "n", "loop_index") == [(0, 0), (1, 1), (2, 2)]
    assert run.steps["loop"].artifacts["maestro_while"]["values"]["n"] == 3


def test_a_while_whose_condition_never_holds_runs_nothing(on_sqlite: EngineRuns) -> None:
    run = on_sqlite.run(flow(while_("loop", "n > 0", {"n": 0}, noop("inner"))))
    assert run.status == "SUCCEEDED"
    assert on_sqlite.children(run, "loop") == []


def test_a_while_whose_condition_breaks_later_fails_internally(on_sqlite: EngineRuns) -> None:
    body = noop("inner", **{"!n<long>": "n + 1;"})
    run = on_sqlite.run(flow(while_("loop", "n == 0 || 1 / (n - 1) > 0", {"n": 0}, body), noop("other")))
    assert run.statuses == {"loop": "INTERNALLY_FAILED", "other": "SUCCEEDED"}
    assert run.status == "FAILED"


def test_a_failed_iteration_fails_a_while_and_a_restart_goes_on_from_it(on_sqlite: EngineRuns) -> None:
    body = (
        noop("grow", **{"!n<long>": "n + 1;"}),
        probe("work", "${how}", expr__how="n == 1 && !again ? 'FATAL_ERROR' : 'DONE'"),
    )
    on_sqlite.push(flow(while_("loop", "n < 3", {"n": 0}, *body, dag="sequential"), again=False))
    failed = on_sqlite.run("w")
    assert failed.statuses == {"loop": "FATALLY_FAILED"}
    starts = GATES.starts["work"]
    run = on_sqlite.rerun(failed, params={"again": ParamDefinition.infer("again", True)})
    assert run.status == "SUCCEEDED"
    assert run.steps["loop"].artifacts["maestro_while"]["values"]["n"] == 3
    assert GATES.starts["work"] - starts == 2


def test_stopping_a_loop_stops_its_iterations(on_sqlite: EngineRuns) -> None:
    loop = foreach(
        "loop", {"x": [1, 2, 3]}, foreach("deep", {"y": [1, 2]}, probe("inner", gate="never")), concurrency=2
    )
    started = on_sqlite.start(flow(loop))
    on_sqlite.until(lambda: GATES.starts["inner"] == 4)
    on_sqlite.end(started)
    run = on_sqlite.finished(started)
    assert run.status == "STOPPED"
    children = on_sqlite.children(run, "loop")
    assert [child.status for child in children] == ["STOPPED", "STOPPED"]
    assert {deep.status for child in children for deep in on_sqlite.children(child, "deep")} == {"STOPPED"}
    assert on_sqlite.permits() == []


def test_a_loop_with_more_iterations_than_an_engine_holds_ends(
    on_sqlite: EngineRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "CAPACITY", 2)
    loop = foreach("loop", {"x": [1, 2, 3]}, foreach("deep", {"y": [1, 2]}, noop("inner")))
    assert on_sqlite.run(flow(loop)).status == "SUCCEEDED"


def test_pausing_an_instance_holds_the_iterations_of_its_loops_too(on_sqlite: EngineRuns) -> None:
    loop = foreach(
        "loop", {"x": [1, 2]}, probe("first", gate="g"), noop("second"), dag="sequential", concurrency=1
    )
    started = on_sqlite.start(flow(loop))
    on_sqlite.until(lambda: GATES.starts["first"] == 1)
    on_sqlite.pause(started)
    on_sqlite.open("g")
    held = on_sqlite.until(
        lambda: [one for one in on_sqlite.children(started, "loop") if one.statuses.get("second")]
    )
    assert held[0].statuses["second"] == "PAUSED"
    on_sqlite.pause(started, False)
    assert on_sqlite.finished(started).status == "SUCCEEDED"


def test_a_loop_that_takes_too_long_is_timed_out_and_its_iterations_are_stopped(
    on_sqlite: EngineRuns,
) -> None:
    run = on_sqlite.run(flow(foreach("loop", {"x": [1, 2]}, probe("inner", gate="never"), timeout="3s")))
    assert run.statuses == {"loop": "TIMED_OUT"}
    assert run.status == "TIMED_OUT"
    assert [child.status for child in on_sqlite.children(run, "loop")] == ["STOPPED", "STOPPED"]


def test_a_skipped_loop_stops_its_iterations_and_what_is_after_it_runs(on_sqlite: EngineRuns) -> None:
    loop = foreach("loop", {"x": [1, 2, 3]}, probe("inner", gate="never"), concurrency=2)
    started = on_sqlite.start(flow(loop, noop("after"), dag="sequential"))
    on_sqlite.until(lambda: GATES.starts["inner"] == 2)
    on_sqlite.act("STEP_SKIP", started, "loop")
    run = on_sqlite.finished(started)
    assert run.statuses == {"loop": "SKIPPED", "after": "SUCCEEDED"}
    assert [child.status for child in on_sqlite.children(run, "loop")] == ["STOPPED", "STOPPED"]


def test_a_step_inside_a_loop_can_be_acted_on(on_sqlite: EngineRuns) -> None:
    started = on_sqlite.start(
        flow(foreach("loop", {"x": [1]}, probe("inner", gate="never"), noop("after"), dag="sequential"))
    )
    (child,) = on_sqlite.until(
        lambda: [one for one in on_sqlite.children(started, "loop") if one.statuses.get("inner") == "RUNNING"]
    )
    on_sqlite.act("STEP_SKIP", child, "inner")
    assert on_sqlite.finished(started).status == "SUCCEEDED"
    assert on_sqlite.children(started, "loop")[0].statuses == {"inner": "SKIPPED", "after": "SUCCEEDED"}
