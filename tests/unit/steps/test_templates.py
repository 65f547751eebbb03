"""Job templates: read, inherited, resolved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.errors import UsageError
from calve.steps.registry import RegisteredTypes
from calve.steps.templates import JobTemplate, read_template, resolve
from calve.workflow.definition import InvalidDefinitionError, load_yaml
from calve.workflow.params import InternalMode

LOAD = """
definition:
  job_type: load
  step_type: Shell
  version: v1
  description: loads a day
  params:
    day: {type: LONG, internal_mode: REQUIRED}
    script: {type: STRING, value: "load.sh $day"}
"""


def template(
    name: str, *, step_type: str | None = "Shell", version: str = "default", **more: Any
) -> JobTemplate:
    return JobTemplate.from_json({"job_type": name, "step_type": step_type, "version": version, **more})


def lookup(*templates: JobTemplate) -> Any:
    known = {(item.job_type.lower(), item.version): item for item in templates}
    return lambda name, version: known.get((name.lower(), version or "default"))


def value(text: str) -> dict[str, Any]:
    return {"value": text, "type": "STRING"}


def test_yaml_and_json_with_and_without_envelope_are_the_same() -> None:
    found = read_template(LOAD)
    assert (found.job_type, found.step_type, found.version) == ("load", "Shell", "v1")
    assert found.params["day"].internal_mode is InternalMode.REQUIRED
    assert read_template(json.dumps({"definition": found.to_json(), "owner": "x"})) == found
    assert read_template(json.dumps(found.to_json())) == found


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "{job_type: a}",
        "{step_type: Shell}",
        "{job_type: 3, step_type: Shell}",
        "{job_type: a, step_type: Shell, params: [1]}",
        "{job_type: a, step_type: Shell, params: {p: 3}}",
        "{job_type: a, step_type: Shell, inherit_from: 3}",
        "{job_type: a, job_type: b, step_type: Shell}",
        "{",
        "",
    ],
)
def test_what_is_no_template_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_template(text)
    assert caught.value.message
    assert caught.value.remedy


def test_own_params_go_above_inherited_ones_and_later_parents_above_earlier() -> None:
    one = template("one", params={"a": value("one"), "b": value("one"), "c": value("one")})
    two = template("two", version="v2", params={"b": value("two"), "c": value("two")})
    own = template("own", step_type=None, params={"c": value("own")}, inherit_from={"one": None, "TWO": "v2"})
    resolved = resolve(own, lookup(one, two))
    assert resolved.step_type == "Shell"
    assert {name: param.value for name, param in resolved.params.items()} == {
        "a": "one",
        "b": "two",
        "c": "own",
    }


def test_a_parent_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="'ghost' version 'v9'"):
        resolve(template("own", inherit_from={"ghost": "v9"}), lookup())


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_a_template_that_inherits_from_itself_is_refused_and_any_other_resolves(
    edges: list[tuple[int, int]],
) -> None:
    parents = {n: sorted({to for source, to in edges if source == n}) for n in range(6)}
    known = [
        template(f"t{n}", inherit_from=[f"t{to}" for to in parents[n]], params={f"p{n}": value("x")})
        for n in range(6)
    ]

    def reach(start: int, path: tuple[int, ...] = ()) -> set[int] | None:
        if start in path:
            return None
        found = {start}
        for parent in parents[start]:
            above = reach(parent, (*path, start))
            if above is None:
                return None
            found |= above
        return found

    for number, item in enumerate(known):
        expected = reach(number)
        if expected is None:
            with pytest.raises(UsageError) as caught:
                resolve(item, lookup(*known))
            assert caught.value.code == "TEMPLATE_CYCLE"
        else:
            assert set(resolve(item, lookup(*known)).params) == {f"p{n}" for n in expected}


def test_a_definition_may_use_a_template_and_must_give_what_it_requires() -> None:
    types = RegisteredTypes(
        lookup(template("load", params=read_template(LOAD).to_json()["params"])), ["load"]
    )
    text = "Workflow: {id: w, jobs: [{job: {id: a, type: Load%s}}]}"
    with pytest.raises(InvalidDefinitionError, match="needs the param 'day'"):
        load_yaml(text % "", types=types)
    load_yaml(text % ", day: 5", types=types)
    assert "load" in types.names()
    found = types.find("LOAD")
    assert found is not None
    assert (found.name, found.template_of, set(found.required)) == ("load", "Shell", {"day"})


def test_a_template_over_no_step_type_is_refused() -> None:
    with pytest.raises(UsageError, match="'Nothing', which is not a step type"):
        RegisteredTypes(lookup(template("a", step_type="Nothing"))).find("a")
