"""Which part of the lineage is shown."""

from __future__ import annotations

from calve.backfill.lineage.describing import Kind, Way
from calve.backfill.lineage.graph import Lineage
from calve.backfill.lineage.model import Call, How, TableRead, TableWrite, WorkflowTables
from calve.ui.views.lineage.choosing import choose_all, choose_around


def chain(length: int) -> Lineage:
    """Workflow n reads table n and writes table n + 1."""
    how = frozenset({How.SQL})
    return Lineage(
        WorkflowTables(
            f"w{at:04d}",
            1,
            (TableRead(f"lake.db.t{at:04d}", ("a",), how),),
            (TableWrite(f"lake.db.t{at + 1:04d}", ("a",), frozenset(), how, by_spark=True),),
        )
        for at in range(length)
    )


def test_of_a_large_lake_a_part_is_shown_and_the_number_of_all_is_told() -> None:
    part = choose_all(chain(1000), limit=300)
    assert (len(part.nodes), part.total) == (300, 2001)
    assert all(edge["from"] in part.nodes and edge["to"] in part.nodes for edge in part.edges)


def test_around_a_name_the_nearest_are_shown() -> None:
    part = choose_around(chain(1000), Kind.TABLE, "lake.db.t0500", None, limit=5)
    assert set(part.nodes) == {
        *("table:lake.db.t0500", "workflow:w0499", "workflow:w0500"),
        *("table:lake.db.t0499", "table:lake.db.t0501"),
    }
    assert part.total == 2001
    assert choose_around(chain(10), Kind.TABLE, "lake.db.t0009", Way.UPSTREAM).total == 19


def test_a_workflow_that_is_called_and_was_never_pushed_is_no_node() -> None:
    calling = WorkflowTables("caller", 1, calls=(Call("a", "called"), Call("b", "never_pushed")))
    part = choose_all(Lineage([calling, WorkflowTables("called", 1)]))
    assert set(part.nodes) == {"workflow:caller", "workflow:called"}
    assert (len(part.edges), part.total) == (1, 2)
