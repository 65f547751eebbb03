from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.errors import CalveError, NotFoundError, UsageError
from calve.workflow.params import (
    EvaluatedParam,
    Evaluation,
    ParamDefinition,
    ParamLimits,
    ParamType,
    Resolver,
    RunRequest,
    Scope,
    StepStages,
    evaluate_condition,
    evaluate_params,
    start_params,
    step_params,
)
from calve.workflow.params.interpolation import names_in
from calve.workflow.sel import Host


class World(Resolver):
    def step_ids(self) -> tuple[str, ...]:
        return ("load", "_odd", "tail_", "a", "a_")

    def step_param(self, step_id: str, name: str) -> Any:
        known = {
            ("load", "rows"): 42,
            ("load", "MAESTRO_STEP_STATUS"): "SUCCEEDED",
            ("tail_", "x"): 1,
            ("_odd", "x"): 2,
        }
        if (step_id, name) in known:
            return known[step_id, name]
        raise NotFoundError("STEP_PARAM", f"no {name} in {step_id}", "Wait.")

    def step_field(self, field: str) -> Any:
        return {"step_id": "me", "step_attempt_id": 1, "step_instance_uuid": "u"}[field]

    def instance_field(self, field: str) -> Any:
        return {
            "owner": "alice",
            "workflow_id": "w",
            "workflow_instance_id": 3,
            "INITIATOR_TIMEZONE": self.zone,
        }.get(field)

    zone: str | None = None

    def signal_param(self, name: str) -> Any:
        return f"signal {name}"

    def named_signal_param(self, signal: str, name: str) -> Any:
        if signal == "arrived":
            return 20240101
        raise NotFoundError("SIGNAL", f"no signal {signal}", "Send it.")

    def dependency_param(self, index: int, name: str) -> Any:
        return index

    def foreach_params(self, foreach: str, step_id: str, name: str) -> Any:
        return ["a", None, "c"]

    def subworkflow_param(self, subworkflow: str, step_id: str, name: str) -> Any:
        return 1.5

    def next_unique_id(self) -> int:
        return 99

    def execution_environment(self) -> str:
        return "test"


def text(value: str) -> ParamDefinition:
    return ParamDefinition(name="p", type=ParamType.STRING, value=value)


def expr(value: str, type_: ParamType = ParamType.LONG) -> ParamDefinition:
    return ParamDefinition(name="p", type=type_, expression=value)


def named(params: dict[str, ParamDefinition | object]) -> dict[str, ParamDefinition]:
    made = {}
    for name, param in params.items():
        found = param if isinstance(param, ParamDefinition) else ParamDefinition.infer(name, param)
        made[name] = ParamDefinition.from_json(name, found.to_json())
    return made


def values(params: dict[str, ParamDefinition | object], scope: Scope | None = None) -> dict[str, Any]:
    made = evaluate_params(named(params), scope, World())
    return {name: param.value for name, param in made.items()}


def code(params: dict[str, ParamDefinition | object], scope: Scope | None = None) -> str:
    with pytest.raises(CalveError) as caught:
        values(params, scope)
    return caught.value.code


STEP = Scope(step_id="me", workflow_params={"i": 1, "region": "us"})


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("$a", "1"),
        ("${a}", "1"),
        ("x${a}y", "x1y"),
        ("$a-$b", "1-two"),
        ("$$a", "$a"),
        ("$${a}", "${a}"),
        ("$$$a", "$1"),
        ("$$$$a", "$$a"),
        ("$$", "$"),
        ("$", "$"),
        ("100%", "100%"),
        ("${1a}", "${1a}"),
        ("$ a", "$ a"),
        ("${dotted.name-x}", "ok"),
        ("$xs", "[1,2]"),
        ("$m", '{"k":"v"}'),
        ("$d", "1.0E10"),
        ("$t", "true"),
        ("$dollar", "$a"),
    ],
)
def test_strings_are_interpolated_once(literal: str, expected: str) -> None:
    params = {
        "p": text(literal),
        "a": 1,
        "b": "two",
        "dotted.name-x": "ok",
        "xs": [1, 2],
        "m": {"k": "v"},
        "d": 1e10,
        "t": True,
        "dollar": "$$a",
    }
    assert values(params)["p"] == expected


def test_arrays_and_the_keys_of_maps_are_interpolated_too() -> None:
    made = values({"xs": ["$a", "b$$"], "m": {"k$a": "v$a"}, "a": 1, "deep": {"in": "$a", "n": 1}})
    assert (made["xs"], made["m"], made["deep"]) == (["1", "b$"], {"k1": "v1"}, {"in": "1", "n": 1})


@given(st.text("$a{} ", max_size=12))
def test_a_dollar_sign_that_is_doubled_is_plain(source: str) -> None:
    assert names_in(source.replace("$", "$$")) == frozenset()
    assert values({"p": text(source.replace("$", "$$"))})["p"] == source


def test_params_are_evaluated_whatever_their_order() -> None:
    made = values({"c": expr("b + 1"), "b": expr("a + 1"), "a": 1, "s": text("${c}")})
    assert made == {"c": 3, "b": 2, "a": 1, "s": "3"}
    assert list(made) == ["c", "b", "a", "s"]


@pytest.mark.parametrize(
    "params",
    [
        {"a": text("$a")},
        {"a": expr("a + 1")},
        {"a": expr("b"), "b": text("${c}"), "c": expr("a")},
        {"a": {"in": "$a", "n": 1}},
    ],
)
def test_a_circle_is_named(params: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        values(params)
    assert caught.value.code == "PARAM_CYCLE"
    assert "a →" in caught.value.message


def test_a_long_chain_is_not_deep() -> None:
    chain: dict[str, ParamDefinition | object] = {f"p{i}": text(f"$p{i + 1}") for i in range(2000)}
    assert values({**chain, "p2000": "x"})["p0"] == "x"


def test_an_unknown_name_is_an_error_that_names_it() -> None:
    assert code({"p": text("$nothing")}) == "PARAM_REFERENCE"
    assert code({"p": expr("nothing + 1")}) == "PARAM_REFERENCE"
    assert code({"p": text("$nothing")}, STEP) == "PARAM_REFERENCE"


@pytest.mark.parametrize(
    ("type_", "expression", "expected"),
    [
        (ParamType.STRING, "5", "5"),
        (ParamType.STRING, "1.5", "1.5"),
        (ParamType.STRING, "true", "true"),
        (ParamType.LONG, "'5'", 5),
        (ParamType.DOUBLE, "5", 5.0),
        (ParamType.DOUBLE, "'1.5'", 1.5),
        (ParamType.BOOLEAN, "'TRUE'", True),
        (ParamType.STRING_ARRAY, "Util.intsBetween(0, 2, 1)", ["0", "1"]),
        (ParamType.LONG_ARRAY, "new long[0]", []),
        (ParamType.STRING_ARRAY, "params.getFromForeach('f', 's', 'p')", ["a", None, "c"]),
        (ParamType.MAP, "m = new Map(); m.put('a', 1); m", {"a": 1}),
        (ParamType.STRING_MAP, "m = new Map(); m.put('a', '1'); m", {"a": "1"}),
    ],
)
def test_a_result_is_cast_where_nothing_is_lost(type_: ParamType, expression: str, expected: object) -> None:
    assert values({"p": expr(expression, type_)})["p"] == expected


@pytest.mark.parametrize(
    ("type_", "expression"),
    [
        (ParamType.LONG, "'x'"),
        (ParamType.LONG, "1.5"),
        (ParamType.LONG, "true"),
        (ParamType.BOOLEAN, "1"),
        (ParamType.LONG_ARRAY, "new String[]{'1'};"),
        (ParamType.STRING, "new int[]{1};"),
        (ParamType.STRING, "String s; s"),
        (ParamType.STRING_MAP, "1"),
    ],
)
def test_a_result_of_another_type_is_refused(type_: ParamType, expression: str) -> None:
    assert code({"p": expr(expression, type_)}) == "PARAM_TYPE"


def test_a_step_param_may_use_the_workflow_param_of_its_name() -> None:
    assert values({"i": expr("i + 1"), "j": expr("i + 1")}, STEP) == {"i": 2, "j": 3}


def test_a_step_sees_its_own_params_before_those_of_the_workflow() -> None:
    assert values({"j": expr("i"), "i": 5}, STEP)["j"] == 5
    assert values({"i": 5, "j": expr("i")}, STEP)["j"] == 5
    assert values({"j": expr("k"), "k": 7}, STEP)["j"] == 7


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("load__rows + 1", 43),
        ("me__k", 7),
        ("tail___x", 1),
        ("_odd__x", 2),
        ("arrived__day", 20240101),
        ("params.getFromStep('load', 'rows')", 42),
        ("params.getFromStep('load', 'MAESTRO_STEP_STATUS').length()", 9),
        ("params.getFromStep('step_attempt_id')", 1),
        ("params.getFromInstance('workflow_instance_id')", 3),
        ("params.getFromInstance('RUN_POLICY').length()", 0),
        ("params.getFromSignal('x').length()", 8),
        ("params.getFromSignal('arrived', 'day')", 20240101),
        ("Long.valueOf(params.getFromSignalOrDefault('other', 'day', '7'))", 7),
        ("params.getFromSignalDependency('2', 'x')", 2),
        ("params.getFromForeach('f', 's', 'p').length", 3),
        ("params.getFromSubworkflow('f', 's', 'p').longValue()", 1),
        ("params.nextUniqueId()", 99),
        ("params.getExecutionEnvironment().length()", 4),
        ("params.get('region').length()", 2),
        ("params.containsKey('i') ? 1 : 0", 1),
    ],
)
def test_a_step_reaches_other_steps_signals_and_functions(expression: str, expected: int) -> None:
    assert values({"p": expr(expression), "k": 7}, STEP)["p"] == expected


def test_references_work_in_strings() -> None:
    assert values({"p": text("${load__rows} $load__rows ${arrived__day}")}, STEP)["p"] == "42 42 20240101"
    assert values({"p": text("${arrived__day}")})["p"] == "20240101"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a___x", "PARAM_REFERENCE"),
        ("zz___x", "PARAM_REFERENCE"),
        ("me__nothing", "PARAM_REFERENCE"),
        ("load__nothing", "STEP_PARAM"),
        ("gone__x", "SIGNAL"),
        ("params.getFromStep('load', 'nothing')", "SEL_FUNCTION"),
        ("params.getFromStep('a', 'b', 'c')", "SEL_UNKNOWN_NAME"),
        ("params.getFromSignalDependency('x', 'y')", "SEL_FUNCTION"),
        ("1 / 0", "SEL_VALUE"),
        ("throw 'no'", "SEL_THROWN"),
        ("1 +", "SEL_SYNTAX"),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error(expression: str, expected: str) -> None:
    assert code({"p": expr(expression)}, STEP) == expected


def test_an_error_names_the_param_and_the_place() -> None:
    with pytest.raises(CalveError) as caught:
        values({"rows": expr("1 / 0")}, STEP)
    assert "param 'rows' of step 'me': line 1, column 3" in caught.value.message


def test_without_a_resolver_every_function_says_what_is_missing() -> None:
    calls = [
        *("getFromStep('a','b')", "getFromStep('a')", "getFromInstance('a')", "getFromSignal('a')"),
        *("getFromSignal('a','b')", "getFromSignalDependency('0','b')", "getFromForeach('a','b','c')"),
        *("getFromSubworkflow('a','b','c')", "nextUniqueId()", "getExecutionEnvironment()"),
    ]
    for call in calls:
        with pytest.raises(CalveError) as caught:
            evaluate_params(named({"p": expr(f"params.{call}")}))
        assert caught.value.code == "SEL_FUNCTION"


def test_in_a_workflow_params_shows_only_what_the_expression_names() -> None:
    assert values(
        {"a": 1, "p": expr("a; params.get('a') + 1"), "b": expr("params.containsKey('a') ? 1 : 0")}
    ) == {
        "a": 1,
        "p": 2,
        "b": 0,
    }


def test_params_are_limited_together() -> None:
    with pytest.raises(UsageError) as caught:
        evaluate_params(named({"p": "x" * 900}), limits=ParamLimits(total_json=1_000))
    assert caught.value.code == "PARAM_SIZE"
    assert values({"p": "x" * 300_000})["p"]
    assert code({"p": "x" * 400_000}) == "PARAM_SIZE"


def test_an_evaluated_param_survives_json_and_is_its_own_definition_on_restart() -> None:
    made = evaluate_params(
        named({"s": text("$$x"), "m": {"k": "$$", "n": 1}, "e": expr("1 + 1"), "xs": ["$$"]})
    )
    for name, param in made.items():
        assert EvaluatedParam.from_json(name, param.to_json()) == param
    again = evaluate_params({name: param.to_definition() for name, param in made.items()})
    assert {name: param.value for name, param in again.items()} == {
        name: param.value for name, param in made.items()
    }


def test_conditions_see_the_step_then_the_workflow() -> None:
    evaluation = Evaluation(named({"rows": 5}), STEP, World())
    assert evaluate_condition("rows > 3 && region == 'us'", evaluation) is True
    with pytest.raises(UsageError) as caught:
        evaluate_condition("rows", evaluation)
    assert caught.value.code == "PARAM_TYPE"
    assert evaluation.text("${rows}min of $region") == "5min of us"


class Stopped(Host):
    def now_ms(self) -> int:
        return 1_704_098_096_000  # 2024-01-01T08:34:56Z


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (
            None,
            {
                "DSL_DEFAULT_TZ": "UTC",
                "WORKFLOW_CRON_TIMEZONE": "UTC",
                "TARGET_RUN_DATE": "20240101",
                "TARGET_RUN_HOUR": "08",
                "DERIVED_RUN_TS": 1_704_096_000_000,
                "DERIVED_RUN_DATE_US_PACIFIC": "20240101",
                "DERIVED_RUN_HOUR_US_PACIFIC": "00",
                "DERIVED_RUN_DATE_UTC_MINUS_ONE": "20231231",
                "RUN_DATE_MINUS_7": "20231225",
            },
        ),
        (
            "America/Los_Angeles",
            {
                "WORKFLOW_CRON_TIMEZONE": "America/Los_Angeles",
                "TARGET_RUN_HOUR": "00",
                "LOCAL_RUN_DATE": "20240101",
                "DERIVED_RUN_HOUR_UTC": "08",
                "DERIVED_RUN_HOUR_UTC_MINUS_ONE_HOUR": "07",
                "DERIVED_RUN_DATE_UTC_PLUS_ONE_HOUR": "20240101",
                "RUN_DATE": "20240101",
                "RUN_DATE_MINUS_1": "20231231",
            },
        ),
    ],
)
def test_every_workflow_has_the_dates_of_its_run(zone: str | None, expected: dict[str, Any]) -> None:
    world = World()
    world.zone = zone
    made = evaluate_params(start_params({}, RunRequest()), resolver=world, host=Stopped())
    assert {name: made[name].value for name in expected} == expected
    assert (made["owner"].value, made["workflow_id"].value) == ("alice", "w")
    assert len(made) == 23


def test_every_step_knows_itself() -> None:
    made = evaluate_params(step_params(StepStages(definition={})), Scope(step_id="me"), World())
    assert {name: param.value for name, param in made.items()} == {
        "workflow_instance_id": 3,
        "step_instance_uuid": "u",
        "step_attempt_id": 1,
        "step_id": "me",
    }
