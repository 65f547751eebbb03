"""The graph of workflows and tables: reach, order, cycles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.backfill.lineage import Call, ColumnEdge, How, Lineage, TableRead, TableWrite, WorkflowTables
from calve.errors import NotFoundError, UsageError
from calve.spark.targets import WriteKind


def workflow(
    name: str, reads: Sequence[str] = (), writes: Sequence[str] = (), calls: Sequence[str] = ()
) -> WorkflowTables:
    return WorkflowTables(
        name,
        1,
        reads=tuple(TableRead(table, ("s",), frozenset({How.SQL})) for table in reads),
        writes=tuple(
            TableWrite(table, ("s",), frozenset({WriteKind.INSERT}), frozenset({How.SQL}), True)
            for table in writes
        ),
        calls=tuple(Call("c", other) for other in calls),
    )


# raw → a → left, right → b, c → (b and c) d → end; apart from all of it, alone.
DIAMOND = Lineage(
    [
        workflow("a", ["raw"], ["left", "right"]),
        workflow("b", ["left"], ["b_out"]),
        workflow("c", ["right"], ["c_out"]),
        workflow("d", ["b_out", "c_out"], ["end"]),
        workflow("alone", ["x"], ["y"]),
    ]
)


def test_what_comes_after_and_before() -> None:
    assert DIAMOND.downstream("raw").workflows == ("a", "b", "c", "d")
    assert DIAMOND.downstream("left").tables == ("b_out", "end")
    assert DIAMOND.downstream("b").workflows == ("d",)
    assert DIAMOND.upstream("end").tables == ("b_out", "c_out", "left", "raw", "right")
    assert DIAMOND.upstream("a").workflows == ()
    assert (DIAMOND.readers("left"), DIAMOND.writers("left")) == (("b",), ("a",))
    assert DIAMOND.following("a") == ("b", "c")


def test_an_order_in_which_each_comes_after_all_that_it_is_made_from() -> None:
    assert DIAMOND.order(["d", "c", "b", "a"]) == ("a", "b", "c", "d")
    assert DIAMOND.order(["d", "a", "alone"]) in (("a", "alone", "d"), ("alone", "a", "d"))
    assert DIAMOND.order([]) == ()


def test_names_that_are_not_there_are_told_with_the_nearest() -> None:
    lineage = Lineage([workflow("daily.events", ["lake.db.events"], ["lake.db.daily"])])
    with pytest.raises(NotFoundError) as wrong:
        lineage.workflow("daily.event")
    assert (wrong.value.code, wrong.value.remedy) == ("WORKFLOW_NOT_FOUND", "did you mean 'daily.events'?")
    with pytest.raises(NotFoundError) as missing:
        lineage.upstream("lake.db.dayly")
    assert (missing.value.code, missing.value.remedy) == (
        "TABLE_NOT_IN_LINEAGE",
        "did you mean 'lake.db.daily'?",
    )


def test_workflows_that_are_made_from_each_other_are_told_and_not_followed_for_ever() -> None:
    lineage = Lineage(
        [workflow("a", ["y"], ["x"]), workflow("b", ["x"], ["y", "z"]), workflow("c", ["z"], ["out"])]
    )
    assert lineage.downstream("x").workflows == ("a", "b", "c")
    assert lineage.upstream("a").tables == ("x", "y")
    assert lineage.cycles() == (("a", "b"),)
    with pytest.raises(UsageError) as cycle:
        lineage.order(["a", "b", "c"])
    assert cycle.value.code == "LINEAGE_CYCLE"
    assert lineage.order(["c", "a"]) == ("a", "c")


def test_a_workflow_that_reads_what_it_writes_is_no_cycle() -> None:
    lineage = Lineage([workflow("a", ["raw", "t"], ["t"]), workflow("b", ["t"], ["u"])])
    assert lineage.cycles() == ()
    assert lineage.order(["b", "a"]) == ("a", "b")
    assert lineage.following("a") == ("b",)


def test_workflows_that_are_called_come_after_who_calls_them() -> None:
    lineage = Lineage(
        [
            workflow("outer", ["raw"], calls=["middle", "gone"]),
            workflow("middle", calls=["inner"]),
            workflow("inner", ["raw"], ["t"]),
            workflow("next", ["t"], ["u"]),
        ]
    )
    assert [found.workflow_id for found in lineage.called("outer")] == ["middle", "inner"]
    assert lineage.downstream("outer").workflows == ("inner", "middle", "next")
    assert lineage.upstream("t").workflows == ("inner", "middle", "outer")
    assert lineage.callers("inner") == ("middle",)
    assert lineage.order(["next", "inner", "outer"]) == ("outer", "inner", "next")


def test_workflows_that_call_each_other_end() -> None:
    lineage = Lineage([workflow("a", calls=["b"]), workflow("b", ["x"], ["y"], ["a"])])
    assert [found.workflow_id for found in lineage.called("a")] == ["b"]
    assert lineage.cycles() == (("a", "b"),)


def test_the_graph_for_programs_has_nodes_and_edges() -> None:
    edge = ColumnEdge("raw", "p", "t", "q")
    tables = workflow("t", ["raw"], ["t"], ["other"])
    document = json.loads(json.dumps(Lineage([replace(tables, columns=(edge,))]).to_json()))
    ids = {node["id"] for node in document["nodes"]}
    assert ids == {"table:raw", "table:t", "workflow:t"}
    assert [(x["from"], x["to"], x["kind"]) for x in document["edges"]] == [
        ("table:raw", "workflow:t", "reads"),
        ("workflow:t", "table:t", "writes"),
        ("workflow:t", "workflow:other", "calls"),
    ]
    assert document["columns"] == [edge.to_json()]


NAMES = st.sampled_from([f"t{n}" for n in range(7)])
GRAPHS = st.dictionaries(
    st.sampled_from([f"w{n}" for n in range(7)]),
    st.tuples(st.sets(NAMES, max_size=3), st.sets(NAMES, max_size=2)),
    min_size=1,
)


@given(GRAPHS)
def test_any_graph_has_an_order_or_a_cycle(graph: Mapping[str, tuple[set[str], set[str]]]) -> None:
    lineage = Lineage([workflow(x, sorted(reads), sorted(writes)) for x, (reads, writes) in graph.items()])
    feeds = {(x, y) for x in graph for y in graph if x != y and graph[x][1] & graph[y][0]}
    try:
        order = lineage.order(graph)
    except UsageError:
        assert lineage.cycles()
        return
    assert not lineage.cycles()
    assert sorted(order) == sorted(graph)
    assert all(order.index(x) < order.index(y) for x, y in feeds)
