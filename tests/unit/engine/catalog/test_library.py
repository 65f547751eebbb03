"""Job templates, limits of tags, and breakpoints."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection

from calve.engine.catalog.breakpoints import (
    Place,
    add_breakpoint,
    delete_breakpoint,
    list_breakpoints,
    matching,
)
from calve.engine.catalog.permits import delete_permit, find_permit, get_permit, list_permits, set_permit
from calve.engine.catalog.templates import (
    delete_template,
    find_template,
    get_template,
    job_types,
    list_templates,
    put_template,
)
from calve.errors import ConflictError, NotFoundError, UsageError
from calve.workflow.definition import load_yaml
from support.engine_db import AUTHOR, NOW, push_workflow


def template(name: str = "greet", version: str = "default", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"job_type": name, "step_type": "Shell", "version": version, **more}
    made.setdefault("params", {"script": {"value": "echo hi", "type": "STRING"}})
    return {"definition": made, "owner": "ada"}


def test_a_template_is_kept_as_it_was_given_and_found_in_any_case_of_letters(connection: Connection) -> None:
    put_template(connection, template(), AUTHOR, NOW)
    put_template(connection, template(version="v2"), AUTHOR, NOW)
    assert get_template(connection, "GREET") == template()
    assert get_template(connection, "greet", "v2") == template(version="v2")
    assert [found["definition"]["version"] for found in list_templates(connection)] == ["default", "v2"]


def test_a_template_takes_the_place_of_the_one_before(connection: Connection) -> None:
    put_template(connection, template(), AUTHOR, NOW)
    put_template(connection, template("Greet", description="new"), AUTHOR, NOW)
    assert [found["definition"]["job_type"] for found in list_templates(connection)] == ["Greet"]


def test_a_definition_may_name_a_template(connection: Connection) -> None:
    put_template(connection, template(), AUTHOR, NOW)
    put_template(connection, template("polite", step_type=None, inherit_from="greet", params={}), AUTHOR, NOW)
    types = job_types(connection)
    found = types.find("Polite")
    assert found is not None
    assert (found.name, found.template_of) == ("polite", "Shell")
    assert {"greet", "polite", "NoOp"} <= set(types.names())
    text = "workflow: {id: w, jobs: [{job: {id: a, type: polite}}]}"
    assert load_yaml(text, types=types).definition.workflow.id == "w"


def test_a_template_is_deleted_in_one_version_or_in_all(connection: Connection) -> None:
    for version in ("default", "v2", "v3"):
        put_template(connection, template(version=version), AUTHOR, NOW)
    delete_template(connection, "greet", "v2")
    assert find_template(connection, "greet", "v2") is None
    delete_template(connection, "Greet")
    assert list_templates(connection) == []
    with pytest.raises(NotFoundError) as missing:
        delete_template(connection, "greet")
    assert missing.value.code == "TEMPLATE_NOT_FOUND"
    with pytest.raises(NotFoundError):
        get_template(connection, "greet")


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (template("NoOp"), "TEMPLATE_INVALID"),
        (template("shell"), "TEMPLATE_INVALID"),
        (template("a" * 200), "TEMPLATE_INVALID"),
        (template("ä"), "TEMPLATE_INVALID"),
        (template(step_type="Nothing"), "TEMPLATE_TYPE_UNKNOWN"),
        (template(inherit_from="nobody"), "TEMPLATE_UNKNOWN"),
        (template(inherit_from="greet"), "TEMPLATE_CYCLE"),
        (template(description="x" * 300_000), "TEMPLATE_INVALID"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(
    connection: Connection, document: dict[str, Any], code: str
) -> None:
    with pytest.raises(UsageError) as refused:
        put_template(connection, document, AUTHOR, NOW)
    assert refused.value.code == code


def test_a_limit_is_set_changed_and_taken_away(connection: Connection) -> None:
    assert find_permit(connection, "heavy") is None
    set_permit(connection, "heavy", 3)
    set_permit(connection, "heavy", 5)
    set_permit(connection, "light", 0)
    assert get_permit(connection, "heavy") == 5
    assert list_permits(connection) == {"heavy": 5, "light": 0}
    delete_permit(connection, "heavy")
    with pytest.raises(NotFoundError):
        get_permit(connection, "heavy")
    with pytest.raises(NotFoundError):
        delete_permit(connection, "heavy")


@pytest.mark.parametrize(
    ("tag", "limit"), [("", 1), ("  ", 1), ("a\n", 1), ("a" * 600, 1), ("a", -1), ("a", 2**31)]
)
def test_a_limit_that_makes_no_sense_is_refused(connection: Connection, tag: str, limit: int) -> None:
    with pytest.raises(UsageError):
        set_permit(connection, tag, limit)


def place(**more: Any) -> Place:
    return Place(workflow_id="w", step_id="only", **more)


def hits(connection: Connection, version: int = 1, instance: int = 1, run: int = 1, attempt: int = 1) -> bool:
    return matching(connection, "w", "only", version, instance, run, attempt)


def test_a_breakpoint_holds_its_step_in_all_runs(connection: Connection) -> None:
    push_workflow(connection)
    assert not hits(connection)
    add_breakpoint(connection, place(), AUTHOR, NOW)
    assert hits(connection)
    assert hits(connection, 7, 7, 7, 7)
    assert not matching(connection, "w", "other", 1, 1, 1, 1)
    delete_breakpoint(connection, place())
    assert not hits(connection)


@pytest.mark.parametrize(
    ("narrowed", "others"),
    [
        ({"version": 1}, [{"version": 2}]),
        ({"instance_id": 1}, [{"instance": 2}]),
        ({"instance_id": 1, "run_id": 1}, [{"instance": 2}, {"run": 2}]),
        ({"instance_id": 1, "run_id": 1, "attempt_id": 1}, [{"instance": 2}, {"run": 2}, {"attempt": 2}]),
    ],
)
def test_a_breakpoint_can_be_narrowed_down(
    connection: Connection, narrowed: dict[str, int], others: list[dict[str, int]]
) -> None:
    push_workflow(connection)
    add_breakpoint(connection, place(**narrowed), AUTHOR, NOW)
    assert hits(connection)
    assert not any(hits(connection, **other) for other in others)


def test_breakpoints_are_listed_as_they_were_set(connection: Connection) -> None:
    push_workflow(connection)
    first = add_breakpoint(connection, place(), AUTHOR, NOW)
    second = add_breakpoint(connection, place(instance_id=4), AUTHOR, NOW)
    assert list_breakpoints(connection, "w") == list_breakpoints(connection, "w", "only") == [first, second]
    assert list_breakpoints(connection, "w", "other") == list_breakpoints(connection, "v") == []
    assert second.to_json() == {
        "workflow_id": "w",
        "workflow_instance_id": 4,
        "step_id": "only",
        "created_by": {"name": AUTHOR},
        "create_time": NOW,
    }


def test_breakpoints_that_make_no_sense_are_refused(connection: Connection) -> None:
    push_workflow(connection)
    add_breakpoint(connection, place(), AUTHOR, NOW)
    with pytest.raises(ConflictError):
        add_breakpoint(connection, place(), AUTHOR, NOW)
    with pytest.raises(NotFoundError, match="no step 'nobody'"):
        add_breakpoint(connection, Place(workflow_id="w", step_id="nobody"), AUTHOR, NOW)
    with pytest.raises(NotFoundError):
        add_breakpoint(connection, Place(workflow_id="v", step_id="only"), AUTHOR, NOW)
    with pytest.raises(UsageError, match="run_id"):
        add_breakpoint(connection, place(run_id=1), AUTHOR, NOW)
    with pytest.raises(NotFoundError):
        delete_breakpoint(connection, place(instance_id=9))
