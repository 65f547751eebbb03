"""Steps inside loops are found by a path from outside."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from calve.engine.core.inline_ids import inline_workflow_id
from calve.engine.views.inner_steps import find_inner_step
from calve.errors import NotFoundError, UsageError
from support.engine_db import add_run


def test_a_path_leads_through_nested_loops(connection: Connection) -> None:
    outer = inline_workflow_id("foreach", "w", 1, "days")
    inner = inline_workflow_id("while", outer, 2, "settle")
    add_run(connection, outer, 2)
    add_run(connection, inner, 3)
    assert find_inner_step(connection, "w", 1, "days:2:load") == (outer, 2, "load")
    assert find_inner_step(connection, "w", 1, "days:2:settle:3:tick") == (inner, 3, "tick")
    assert find_inner_step(connection, "w", 1, "plain.step") == ("w", 1, "plain.step")


def test_an_iteration_that_never_was_is_named(connection: Connection) -> None:
    with pytest.raises(NotFoundError, match="no iteration 7 of a loop 'days'") as refused:
        find_inner_step(connection, "w", 1, "days:7:load")
    assert refused.value.code == "ITERATION_NOT_FOUND"


@pytest.mark.parametrize("path", ["days:2", "days:x:load"])
def test_a_path_of_another_form_is_refused(connection: Connection, path: str) -> None:
    with pytest.raises(UsageError):
        find_inner_step(connection, "w", 1, path)
