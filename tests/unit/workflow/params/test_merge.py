from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.errors import UsageError
from calve.workflow.params import (
    EvaluatedParam,
    InternalMode,
    MergeContext,
    ParamDefinition,
    ParamMode,
    ParamSource,
    ParamType,
    RunRequest,
    StepStages,
    clean_params,
    merge_outputs,
    merge_params,
    outputs_from_json,
    restart_params,
    start_params,
    step_params,
)

START = (ParamMode.MUTABLE, ParamMode.MUTABLE_ON_START, ParamMode.MUTABLE_ON_START_RESTART)
USER_SOURCES = [source for source in ParamSource if not source.is_system]


def literal(value: object, mode: ParamMode | None = None, **more: Any) -> ParamDefinition:
    return ParamDefinition(name="p", type=more.pop("type", ParamType.LONG), value=value, mode=mode, **more)


def merged(base: ParamDefinition, change: ParamDefinition, context: MergeContext) -> ParamDefinition:
    return merge_params({"p": base}, {"p": change}, context)["p"]


def refused(base: ParamDefinition, change: ParamDefinition, context: MergeContext) -> str:
    with pytest.raises(UsageError) as caught:
        merged(base, change, context)
    return caught.value.code


@pytest.mark.parametrize("source", USER_SOURCES)
@pytest.mark.parametrize("mode", list(ParamMode))
def test_the_mode_says_who_may_change_a_param(mode: ParamMode, source: ParamSource) -> None:
    allowed = {
        ParamSource.OUTPUT_PARAMETER: (ParamMode.MUTABLE,),
        ParamSource.RESTART: (ParamMode.MUTABLE, ParamMode.MUTABLE_ON_START_RESTART),
    }.get(source, START)
    context = MergeContext(source)
    if mode in allowed:
        assert merged(literal(1, mode), literal(2), context).value == 2
    else:
        assert refused(literal(1, mode), literal(2), context) == "PARAM_MODE"


@pytest.mark.parametrize("mode", list(ParamMode))
def test_the_system_may_change_anything(mode: ParamMode) -> None:
    assert merged(literal(1, mode), literal(2), MergeContext(ParamSource.SYSTEM_INJECTED)).value == 2


@pytest.mark.parametrize("mode", list(ParamMode))
def test_saying_the_same_again_is_no_change(mode: ParamMode) -> None:
    assert merged(literal(1, mode), literal(1), MergeContext(ParamSource.LAUNCH)).mode is mode


def test_a_parent_that_starts_again_is_bound_like_a_restart() -> None:
    context = MergeContext(ParamSource.SUBWORKFLOW, upstream=True, restart=True)
    assert refused(literal(1, ParamMode.MUTABLE_ON_START), literal(2), context) == "PARAM_MODE"


def test_a_merge_may_tighten_a_mode_and_never_loosen_it() -> None:
    launch = MergeContext(ParamSource.LAUNCH)
    tight = merged(literal(1), literal(2, ParamMode.MUTABLE_ON_START), launch)
    assert tight.mode is ParamMode.MUTABLE_ON_START
    assert refused(tight, literal(3, ParamMode.MUTABLE), launch) == "PARAM_MODE"
    upstream = MergeContext(ParamSource.SUBWORKFLOW, upstream=True)
    assert merged(tight, literal(3, ParamMode.MUTABLE), upstream).mode is ParamMode.MUTABLE_ON_START


def test_a_reserved_param_is_not_for_users_unless_a_parent_passes_it_on() -> None:
    base = literal(1, internal_mode=InternalMode.RESERVED)
    assert refused(base, literal(2), MergeContext(ParamSource.DEFINITION)) == "PARAM_MODE"
    passed = literal(2, source=ParamSource.SYSTEM_DEFAULT)
    assert merged(base, passed, MergeContext(ParamSource.SUBWORKFLOW, upstream=True)).value == 2


def test_a_user_sets_neither_source_nor_internal_mode() -> None:
    launch = MergeContext(ParamSource.LAUNCH)
    assert refused(literal(1), literal(2, source=ParamSource.SYSTEM), launch) == "PARAM_MODE"
    assert refused(literal(1), literal(2, internal_mode=InternalMode.OPTIONAL), launch) == "PARAM_MODE"


def test_the_type_of_the_definition_stays_and_the_value_is_cast() -> None:
    launch = MergeContext(ParamSource.LAUNCH)
    text = ParamDefinition(name="p", type=ParamType.STRING, value="7")
    assert merged(literal(1), text, launch).value == 7
    made = merged(text, literal(8), launch)
    assert (made.type, made.value) == (ParamType.STRING, "8")
    assert (
        refused(literal(1), ParamDefinition(name="p", type=ParamType.STRING, value="x"), launch)
        == "PARAM_TYPE"
    )


def test_an_expression_may_replace_a_value_and_the_other_way_round() -> None:
    launch = MergeContext(ParamSource.LAUNCH)
    expression = ParamDefinition(name="p", type=ParamType.LONG, expression="1 + 1")
    assert merged(literal(1), expression, launch).expression == "1 + 1"
    assert merged(expression, literal(5), launch).expression is None


def test_maps_merge_by_key_and_members_are_as_strict_as_their_map() -> None:
    launch = MergeContext(ParamSource.LAUNCH)
    base = ParamDefinition.infer("p", {"a": 1, "b": {"c": 2, "d": 3}})
    change = ParamDefinition.infer("p", {"b": {"c": 9}, "e": 4})
    made = merged(base, change, launch)
    assert made.members["b"].members["c"].value == 9
    assert list(made.members) == ["a", "b", "e"]
    strict = ParamDefinition.infer("p", {"a": 1}, mode=ParamMode.CONSTANT)
    assert refused(strict, ParamDefinition.infer("p", {"a": 2}), launch) == "PARAM_MODE"


def test_string_maps_merge_by_key() -> None:
    base = ParamDefinition.infer("p", {"a": "1", "b": "2"})
    change = ParamDefinition.infer("p", {"b": "3", "c": "4"})
    assert merged(base, change, MergeContext(ParamSource.LAUNCH)).value == {"a": "1", "b": "3", "c": "4"}


def test_a_map_is_not_merged_with_something_else() -> None:
    launch = MergeContext(ParamSource.LAUNCH)
    assert refused(literal(1), ParamDefinition.infer("p", {"a": 1}), launch) == "PARAM_TYPE"
    assert refused(ParamDefinition.infer("p", {"a": 1}), literal(1), launch) == "PARAM_TYPE"
    expression = ParamDefinition(name="p", type=ParamType.MAP, expression="new Map()")
    assert refused(expression, ParamDefinition.infer("p", {"a": 1}), launch) == "PARAM_TYPE"


def test_optional_params_are_dropped_and_required_ones_asked_for() -> None:
    optional = ParamDefinition(name="o", type=ParamType.STRING, internal_mode=InternalMode.OPTIONAL)
    assert clean_params({"o": optional}) == {}
    required = ParamDefinition(name="r", type=ParamType.STRING, internal_mode=InternalMode.REQUIRED)
    with pytest.raises(UsageError) as caught:
        clean_params({"r": required})
    assert caught.value.code == "PARAM_REQUIRED"
    given_now = merge_params({"r": required}, {"r": literal(1)}, MergeContext(ParamSource.DEFINITION))
    assert clean_params(given_now)["r"].internal_mode is None


def test_a_start_merges_defaults_definition_and_run_params() -> None:
    definition = {"a": literal(1), "RUN_DATE": literal("20200101", type=ParamType.STRING)}
    made = start_params(definition, RunRequest({"a": literal(2), "new": literal(3)}))
    assert (made["a"].value, made["a"].source) == (2, ParamSource.LAUNCH)
    assert (made["RUN_DATE"].value, made["RUN_DATE"].source) == ("20200101", ParamSource.DEFINITION)
    assert made["RUN_TS"].source is ParamSource.SYSTEM_DEFAULT
    assert made["new"].value == 3
    assert "job_template_version" not in made
    with pytest.raises(UsageError):
        start_params({}, RunRequest({"owner": literal("x", type=ParamType.STRING)}))


def test_a_restart_begins_with_the_results_before() -> None:
    expression = ParamDefinition(name="p", type=ParamType.LONG, expression="1 + 1", mode=ParamMode.IMMUTABLE)
    before = {
        "kept": EvaluatedParam(literal(1, source=ParamSource.DEFINITION), 5, 0),
        "again": EvaluatedParam(expression, 2, 0),
        "fixed": EvaluatedParam(literal(1, ParamMode.MUTABLE_ON_START), 1, 0),
    }
    made = restart_params(before, RunRequest({"kept": literal(6)}, ParamSource.RESTART))
    assert made["kept"].value == 6
    assert made["again"].expression == "1 + 1"
    assert restart_params(before, RunRequest())["kept"].value == 5
    assert restart_params(before, RunRequest())["kept"].source is ParamSource.DEFINITION
    with pytest.raises(UsageError):
        restart_params(before, RunRequest({"fixed": literal(2)}, ParamSource.RESTART))


def test_the_stages_of_a_step_come_in_order() -> None:
    stages = StepStages(
        definition={"a": literal(4)},
        type_defaults={"a": literal(1), "b": literal(1)},
        template={"a": literal(2), "b": literal(2), "c": literal(2)},
        injected={"a": literal(3), "c": literal(3)},
        run_params={"a": literal(5), "d": literal(5)},
        restart_params={"d": literal(6)},
    )
    made = step_params(stages)
    assert {name: made[name].value for name in "abcd"} == {"a": 5, "b": 2, "c": 3, "d": 6}
    assert {"step_id", "workflow_instance_id"} <= made.keys()


def test_output_params_change_declared_mutable_params() -> None:
    params = {
        "p": EvaluatedParam(literal(1), 1, 0),
        "m": EvaluatedParam(ParamDefinition.infer("m", {"a": 1, "b": {"c": 2}}), {"a": 1, "b": {"c": 2}}, 0),
        "f": EvaluatedParam(literal(1, ParamMode.MUTABLE_ON_START), 1, 0),
    }
    member = {"type": "MAP", "value": {"c": {"type": "LONG", "value": 3}}}
    outputs = {
        "p": {"type": "LONG", "value": 7, "evaluated_result": 7, "evaluated_time": 99},
        "m": {"type": "MAP", "value": {"b": member}, "evaluated_result": {"b": {"c": 3}}},
    }
    made = merge_outputs(params, outputs_from_json(outputs))
    assert (made["p"].value, made["p"].evaluated_ms) == (7, 99)
    assert made["p"].definition.source is ParamSource.OUTPUT_PARAMETER
    assert made["m"].value == {"a": 1, "b": {"c": 3}}
    for name, code in (("q", "PARAM_OUTPUT"), ("f", "PARAM_MODE")):
        with pytest.raises(UsageError) as caught:
            merge_outputs(params, outputs_from_json({name: {"type": "LONG", "value": 7}}))
        assert caught.value.code == code


VALUES = st.dictionaries(
    st.sampled_from("abcd"),
    st.integers(-5, 5)
    | st.text("xy", max_size=2)
    | st.dictionaries(st.sampled_from("kl"), st.integers(0, 3)),
    max_size=4,
)
CHANGES = VALUES.map(
    lambda values: {name: ParamDefinition.infer(name, value) for name, value in values.items()}
)
SYSTEM = MergeContext(ParamSource.SYSTEM)


def _compatible(one: dict[str, ParamDefinition], other: dict[str, ParamDefinition]) -> bool:
    return all(one[name].type is other[name].type for name in one.keys() & other.keys())


@given(CHANGES, CHANGES)
def test_merging_keeps_the_names_and_the_order_and_leaves_its_input(
    base: dict[str, ParamDefinition], change: dict[str, ParamDefinition]
) -> None:
    if not _compatible(base, change):
        return
    before = (dict(base), dict(change))
    made = merge_params(base, change, SYSTEM)
    assert list(made) == [*base, *(name for name in change if name not in base)]
    assert (base, change) == before
    assert all(
        made[name].value == change[name].value for name in change if change[name].type is not ParamType.MAP
    )


@given(CHANGES, CHANGES)
def test_merging_twice_is_merging_once(
    base: dict[str, ParamDefinition], change: dict[str, ParamDefinition]
) -> None:
    if not _compatible(base, change):
        return
    once = merge_params(base, change, SYSTEM)
    assert merge_params(once, change, SYSTEM) == once


def _plain(param: ParamDefinition) -> Any:
    return {name: _plain(member) for name, member in param.members.items()} or param.value


@given(CHANGES, CHANGES, CHANGES)
def test_merging_values_is_associative(
    one: dict[str, ParamDefinition], two: dict[str, ParamDefinition], three: dict[str, ParamDefinition]
) -> None:
    if not (_compatible(one, two) and _compatible(two, three) and _compatible(one, three)):
        return
    left = merge_params(merge_params(one, two, SYSTEM), three, SYSTEM)
    right = merge_params(one, merge_params(two, three, SYSTEM), SYSTEM)
    assert {name: _plain(param) for name, param in left.items()} == {
        name: _plain(param) for name, param in right.items()
    }


@given(st.sampled_from(list(ParamMode)), st.sampled_from(list(ParamMode)), st.sampled_from(USER_SOURCES))
def test_a_users_merge_never_loosens_a_mode(before: ParamMode, after: ParamMode, source: ParamSource) -> None:
    try:
        made = merged(literal(1, before), literal(2, after), MergeContext(source))
    except UsageError:
        return
    assert made.mode is not None
    assert made.mode.strictness >= before.strictness
