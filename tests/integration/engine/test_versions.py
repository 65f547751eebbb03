"""Versions and job templates as runs use them."""

from __future__ import annotations

import pytest

from calve.errors import CalveError
from support.engine_runs import AUTHOR, EngineRuns, flow, noop, probe


def test_words_and_numbers_choose_the_version(on_sqlite: EngineRuns) -> None:
    for number in (1, 2, 3):
        on_sqlite.push(flow(noop("a"), n=number))
    on_sqlite.calve.activate("w", 2, AUTHOR)
    words = {"active": 2, "latest": 3, "default": 2, "1": 1, 1: 1}
    assert {word: on_sqlite.run("w", {"version": word}).version for word in words} == words
    on_sqlite.calve.deactivate("w", AUTHOR)
    assert on_sqlite.run("w", {"version": "default"}).version == 3
    with pytest.raises(CalveError, match="no active version"):
        on_sqlite.start("w")
    with pytest.raises(CalveError):
        on_sqlite.start("w", {"version": 4})


def test_a_push_while_instances_run_changes_only_later_ones(on_both: EngineRuns) -> None:
    on_both.push(flow(probe("a", gate="g"), noop("b", said="old"), dag="sequential"))
    running, queued = on_both.start("w"), on_both.start("w")
    on_both.until_step(running, "a", "RUNNING")
    on_both.push(flow(noop("c", said="new")))
    later = on_both.start("w")
    on_both.engine.stop()
    on_both.start_engine()
    on_both.open("g")
    for one in (running, queued):
        run = on_both.finished(one)
        assert (run.version, run.steps["b"].params["said"]) == (1, "old")
    run = on_both.finished(later)
    assert (run.version, run.statuses) == (2, {"c": "SUCCEEDED"})
    again = on_both.rerun(on_both.finished(running))
    assert again.version == 1


def template(version: str, text: str) -> dict[str, object]:
    return {
        "definition": {
            "job_type": "greet",
            "step_type": "NoOp",
            "version": version,
            "params": {
                "text": {"type": "STRING", "value": text},
                "who": {"type": "STRING", "internal_mode": "REQUIRED"},
            },
        }
    }


def test_a_job_of_a_template_gets_its_params_by_version(on_sqlite: EngineRuns) -> None:
    on_sqlite.calve.put_template(template("default", "hello $who"), AUTHOR)
    on_sqlite.calve.put_template(template("v2", "good day $who"), AUTHOR)
    greet = {"job": {"id": "a", "type": "greet", "who": "ada"}}
    on_sqlite.push(flow(greet))
    assert on_sqlite.run("w").steps["a"].params["text"] == "hello ada"
    assert on_sqlite.run("w", job_template_version="v2").steps["a"].params["text"] == "good day ada"
    on_sqlite.calve.delete_template("greet", "v2")
    gone = on_sqlite.run("w", job_template_version="v2")
    assert (gone.statuses, gone.code("a")) == ({"a": "INTERNALLY_FAILED"}, "TEMPLATE_NOT_FOUND")


def test_a_required_param_of_a_template_that_is_missing_is_refused_at_push(on_sqlite: EngineRuns) -> None:
    on_sqlite.calve.put_template(template("default", "hello $who"), AUTHOR)
    with pytest.raises(CalveError, match="who"):
        on_sqlite.push(flow({"job": {"id": "a", "type": "greet"}}))
