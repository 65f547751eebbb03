"""Everything that is refused says where, what was found, what was expected, and what was probably meant."""

from __future__ import annotations

import pytest

from calve.workflow.definition import STEP_TYPES, InvalidDefinitionError, JobType, KnownJobTypes
from calve.workflow.definition.problems import DefinitionError
from unit.workflow.definition.helpers import read, refused

HEAD = "Workflow:\n  id: flow\n"
DEPENDING = (
    HEAD + "  jobs: [{{job: {{id: a, type: NoOp, signal_dependencies: [{{name: s, match_params: {}}}]}}}}]"
)


def places(problems: list[DefinitionError]) -> list[tuple[str, int, int]]:
    return [(problem.code, problem.at.line, problem.at.column) for problem in problems]


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "suggestion"),
    [
        ("[1]", "TYPE_MISMATCH", 1, 1, None),
        (DEPENDING.format("{x: {operator: '>'}}"), "KEY_MISSING", 3, 86, None),
        (DEPENDING.format("{x: 1.5}"), "SIGNAL_INVALID", 3, None, None),
        (DEPENDING.format("{x: ~}"), "PARAM_TYPE", 3, 86, None),
        (DEPENDING.format("{'x<lnog>': 1}"), "PARAM_TYPE_UNKNOWN", 3, 83, "long"),
        (DEPENDING.format("[x]"), "TYPE_MISMATCH", 3, 82, None),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp, tags: ['a;b']}}]", "TAG_INVALID", 3, 43, None),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp, tags: [maestro_x]}}]", "TAG_INVALID", 3, 43, None),
        ("workflow: {name: f, steps: [{name: a, script: x}]}", "KEY_MISSING", 1, 29, None),
        ("workflow: {name: f, steps: [{name: a, type: NoOp, dependsOn: [b]}]}", "JOB_UNKNOWN", 1, 63, None),
        ("a: 1", "KEY_MISSING", 1, 1, None),
        ("Workflow: 5", "TYPE_MISMATCH", 1, 11, None),
        (HEAD, "KEY_MISSING", 2, 3, None),
        (HEAD + "  jobs: []", "LIST_EMPTY", 3, 9, None),
        (HEAD + "  jobs: a", "TYPE_MISMATCH", 3, 9, None),
        ("Workflow:\n  jobs: [{job: {id: a, type: NoOp}}]", "KEY_MISSING", 2, 3, None),
        ("Workflow:\n  id: -x\n  jobs: [{job: {id: a, type: NoOp}}]", "ID_INVALID", 2, 7, None),
        (HEAD + "  jobs: [{job: {id: a b, type: NoOp}}]", "ID_INVALID", 3, 21, None),
        (HEAD + "  jobs: [{job: {type: NoOp}}]", "KEY_MISSING", 3, 16, None),
        (HEAD + "  jobs: [{job: {id: a}}]", "KEY_MISSING", 3, 16, None),
        (HEAD + "  jobs: [{job: {id: a, type: Sprak}}]", "STEP_TYPE_UNKNOWN", 3, 30, "Spark"),
        (HEAD + "  jobs: [{jobb: {id: a, type: NoOp}}]", "JOB_KIND_UNKNOWN", 3, 11, "job"),
        (HEAD + "  jobs: [{id: a, type: NoOp}]", "JOB_KIND_UNKNOWN", 3, 10, None),
        (HEAD + "  jobs: [{job: [1]}]", "TYPE_MISMATCH", 3, 16, None),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp, timeout: 5 lightyears}}]",
            "DURATION_INVALID",
            3,
            45,
            None,
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp, failure_mode: ignore}}]",
            "VALUE_UNKNOWN",
            3,
            50,
            "IGNORE_FAILURE",
        ),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp, tags: [x, x]}}]", "TAG_INVALID", 3, 42, None),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp, tags: x}}]", "TYPE_MISMATCH", 3, 42, None),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp, retry_policy: {error_retry_limt: 1}}}]",
            "KEY_UNKNOWN",
            3,
            51,
            None,
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp, retry_policy: {error_retry_limit: 100}}}]",
            "NUMBER_INVALID",
            3,
            70,
            None,
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp, retry_policy: {backoff: {type: SLOW}}}}]",
            "VALUE_UNKNOWN",
            3,
            67,
            None,
        ),
        (
            HEAD + "  run_strategy: paralel\n  jobs: [{job: {id: a, type: NoOp}}]",
            "VALUE_UNKNOWN",
            3,
            17,
            "PARALLEL",
        ),
        (
            HEAD
            + "  run_strategy: first_only\n  workflow_concurrency: 3\n  jobs: [{job: {id: a, type: NoOp}}]",
            "RUN_STRATEGY_INVALID",
            3,
            17,
            None,
        ),
        (HEAD + "  step_concurrency: 0\n  jobs: [{job: {id: a, type: NoOp}}]", "OUT_OF_BOUNDS", 3, 21, None),
        (HEAD + "  criticality: hihg\n  jobs: [{job: {id: a, type: NoOp}}]", "VALUE_UNKNOWN", 3, 16, "HIGH"),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigger: {cron: '61 * * * *'}",
            "CRON_INVALID",
            4,
            17,
            None,
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigger: {cron: '@dayly'}",
            "CRON_INVALID",
            4,
            17,
            "@daily",
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigger: {corn: '@daily', signal: x}",
            "KEY_UNKNOWN",
            4,
            11,
            "cron",
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigger: {cron: '@daily', timezone: Europe/Brelin}",
            "TIMEZONE_UNKNOWN",
            4,
            37,
            "Europe/Berlin",
        ),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigger: {timezone: UTC}", "KEY_MISSING", 4, 10, None),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigger: {incremental: []}",
            "LIST_EMPTY",
            4,
            24,
            None,
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigger: {signal: {name: s, matches: 1}}",
            "KEY_UNKNOWN",
            4,
            29,
            None,
        ),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp}}]\nTrigers: 1", "KEY_UNKNOWN", 4, 1, "Triggers"),
        (
            HEAD + "  description: x\n  jobs: [{job: {id: a, type: NoOp}}]\nDescription: y",
            "KEY_DUPLICATE",
            5,
            14,
            None,
        ),
        (
            HEAD + "  jobs: [{subworkflow: {id: a, workflow_id: x, subworkflow_id: y}}]",
            "KEY_DUPLICATE",
            3,
            48,
            None,
        ),
        (HEAD + "  jobs: [{subworkflow: {id: a, sync: perhaps}}]", "TYPE_MISMATCH", 3, 38, None),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp}}, {job: {id: a, type: NoOp}}]",
            "ID_DUPLICATE",
            3,
            49,
            None,
        ),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp, '!p': 1 +}}]", "SEL_SYNTAX", 3, None, None),
        (HEAD + "  p: ${p}\n  jobs: [{job: {id: a, type: NoOp}}]", "PARAM_SELF_REFERENCE", 3, 3, None),
        (HEAD + "  jobs: [{job: {id: a, type: NoOp, q: $q}}]", "PARAM_SELF_REFERENCE", 3, 36, None),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp, signal_outputs: [{name: s, params: {x: 1.5}}]}}]",
            "SIGNAL_INVALID",
            3,
            None,
            None,
        ),
        (
            HEAD + "  jobs: [{job: {id: a, type: NoOp, signal_outputs: [{params: {x: 1}}]}}]",
            "KEY_MISSING",
            3,
            53,
            None,
        ),
    ],
)
def test_each_error_has_its_place_and_a_guess(
    text: str, code: str, line: int, column: int | None, suggestion: str | None
) -> None:
    problems = refused(text)
    problem = next(problem for problem in problems if problem.code == code)
    assert problem.at.line == line
    assert problem.at.column == column or column is None
    if suggestion is not None:
        assert problem.suggestion == suggestion
        assert problem.remedy == f"Did you mean '{suggestion}'?"


def test_all_errors_of_a_file_come_at_once_in_the_order_of_the_text() -> None:
    problems = refused(
        """\
        Workflow:
          id: flow
          p<long>: text
          loop: $loop
          jobs:
            - job: {id: a, type: Sprak, timeout: soon}
            - job: {id: a, type: NoOp}
            - job: {id: b, type: NoOp, transition: [nowhere]}
        Trigger: {cron: never}
        """
    )
    assert [problem.code for problem in problems] == [
        "PARAM_TYPE",
        "PARAM_SELF_REFERENCE",
        "STEP_TYPE_UNKNOWN",
        "DURATION_INVALID",
        "ID_DUPLICATE",
        "JOB_UNKNOWN",
        "CRON_INVALID",
    ]


def test_an_error_tells_programs_all_it_knows() -> None:
    (problem,) = refused(HEAD + "  jobs: [{job: {id: a, type: Sprak}}]")
    assert problem.to_json() == {
        "code": "STEP_TYPE_UNKNOWN",
        "message": "'Sprak' is not a type of job",
        "remedy": "Did you mean 'Spark'?",
        "file": "flow.yaml",
        "line": 3,
        "column": 30,
        "found": "Sprak",
        "expected": "one of " + ", ".join(STEP_TYPES),
        "did_you_mean": "Spark",
    }
    assert problem.message == "flow.yaml:3:30: 'Sprak' is not a type of job"


def test_one_kind_of_error_gives_its_code_and_several_give_a_common_one() -> None:
    with pytest.raises(InvalidDefinitionError) as one:
        read(HEAD + "  jobs: [{job: {id: a, type: x1}}, {job: {id: b, type: x2}}]")
    with pytest.raises(InvalidDefinitionError) as several:
        read(HEAD + "  jobs: [{job: {id: a, type: x1, timeout: soon}}]")
    assert one.value.code == "STEP_TYPE_UNKNOWN"
    assert several.value.code == "DEFINITION_INVALID"
    assert len(several.value.to_json()["errors"]) == 2
    assert one.value.exit_code == 2


def test_a_template_s_required_params_must_be_given() -> None:
    types = KnownJobTypes(
        [JobType("Shell"), JobType("load", template_of="Shell", required=frozenset({"table", "day"}))]
    )
    text = HEAD + "  jobs: [{job: {id: a, type: Load, type_version: v2, table: t}}]"
    (problem,) = refused(text, types=types)
    assert (problem.code, problem.expected) == ("PARAM_REQUIRED", "the param 'day'")
    step = read(text.replace("table: t", "table: t, day: 1"), types=types).definition.workflow.to_json()[
        "steps"
    ][0]["step"]
    assert (step["type"], step["sub_type"], step["sub_type_version"]) == ("Shell", "load", "v2")


def test_more_than_300_jobs_are_refused_those_in_loops_included() -> None:
    inner = ", ".join(f"{{job: {{id: i{n}, type: NoOp}}}}" for n in range(150))
    outer = "".join(f"    - job: {{id: o{n}, type: NoOp}}\n" for n in range(150))
    text = HEAD + f"  jobs:\n    - foreach: {{id: each, params: {{i: [1]}}, jobs: [{inner}]}}\n" + outer
    (problem,) = refused(text)
    assert (problem.code, problem.found) == ("STEP_LIMIT", "301")


def test_a_key_that_is_nearly_a_word_is_pointed_out() -> None:
    loaded = read(
        HEAD + "  jobs: [{job: {id: a, type: NoOp, retry_polcy: {x: y}, failuremode: x, color: red}}]"
    )
    assert [(warning.code, warning.at.column) for warning in loaded.warnings] == [
        ("PARAM_OR_WORD", 36),
        ("PARAM_OR_WORD", 57),
    ]
