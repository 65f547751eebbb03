"""Graphs laid out in layers: what holds for every one of them."""

from __future__ import annotations

import random
import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from calve.ui.drawing.graph import BOX_HEIGHT, Edge, draw_graph
from calve.ui.drawing.layers import layer

_NAMES = [f"n{number}" for number in range(14)]
_PAIRS = st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES))
ANY_EDGES = st.lists(_PAIRS, max_size=40, unique=True)
#: From a name to a later one: no circle can close.
FORWARD_EDGES = ANY_EDGES.map(lambda edges: [(a, b) for a, b in edges if _NAMES.index(a) < _NAMES.index(b)])
_NUMBER = r"-?[\d.]+(?:e[+-]?\d+)?"


def labels(names: list[str] = _NAMES) -> dict[str, str]:
    return {name: name * 3 for name in names}


def ends(path: str) -> tuple[tuple[float, float], tuple[float, float]]:
    numbers = [float(found) for found in re.findall(_NUMBER, path)]
    return (numbers[0], numbers[1]), (numbers[-2], numbers[-1])


@given(ANY_EDGES)
def test_no_two_boxes_overlap(edges: list[Edge]) -> None:
    boxes = draw_graph(labels(), edges).boxes
    assert {box.id for box in boxes} == set(_NAMES)
    for one, other in combinations(boxes, 2):
        apart_across = one.x + one.width <= other.x or other.x + other.width <= one.x
        apart_down = abs(one.y - other.y) >= BOX_HEIGHT
        assert apart_across or apart_down, (one, other)


@given(ANY_EDGES)
def test_everything_is_on_the_picture(edges: list[Edge]) -> None:
    picture = draw_graph(labels(), edges)
    for box in picture.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= picture.width
        assert box.y + BOX_HEIGHT <= picture.height


@given(FORWARD_EDGES)
def test_an_edge_leads_from_a_right_border_to_a_left_one(edges: list[Edge]) -> None:
    picture = draw_graph(labels(), edges)
    boxes = {box.id: box for box in picture.boxes}
    assert {(line.source, line.target) for line in picture.lines} == set(edges)
    for line in picture.lines:
        source, target = boxes[line.source], boxes[line.target]
        begin, end = ends(line.path)
        assert begin == _close(source.x + source.width, source.y + BOX_HEIGHT / 2, begin)
        assert end == _close(target.x, target.y + BOX_HEIGHT / 2, end)
        assert begin[0] < end[0]


def _close(x: float, y: float, found: tuple[float, float]) -> tuple[float, float]:
    """The point that was found, if it is that one but for rounding."""
    return found if abs(x - found[0]) < 0.1 and abs(y - found[1]) < 0.1 else (x, y)


@given(FORWARD_EDGES)
def test_layers_increase_along_every_edge(edges: list[Edge]) -> None:
    layered = layer(_NAMES, edges)
    for source, target in edges:
        assert layered.nodes[source].layer < layered.nodes[target].layer
        between = [place.layer for place in layered.bends[source, target]]
        assert between == list(range(layered.nodes[source].layer + 1, layered.nodes[target].layer))


@given(FORWARD_EDGES)
def test_no_edge_passes_through_a_box_or_along_another_edge(edges: list[Edge]) -> None:
    layered = layer(_NAMES, edges)
    places = [(place, True) for place in layered.nodes.values()]
    places += [(place, False) for bends in layered.bends.values() for place in bends]
    for (one, is_node), (other, is_other_node) in combinations(places, 2):
        if one.layer == other.layer:
            least = 1 if is_node and is_other_node else 0.6 if is_node or is_other_node else 0.29
            assert abs(one.row - other.row) >= least - 0.01


def test_long_edges_do_not_blow_a_picture_up() -> None:
    chance = random.Random(3)
    names = [f"step_{number}" for number in range(200)]
    edges = [(names[i], names[min(199, i + chance.randint(1, 25))]) for i in range(199) for _ in range(2)]
    picture = draw_graph({name: name for name in names}, edges)
    assert picture.height < 3_000


@given(ANY_EDGES)
def test_circles_do_not_keep_a_graph_from_being_drawn(edges: list[Edge]) -> None:
    picture = draw_graph(labels(), edges)
    assert {(line.source, line.target) for line in picture.lines} == set(edges)


def test_an_edge_to_nowhere_is_left_out_and_a_double_one_is_drawn_once() -> None:
    picture = draw_graph({"a": "a", "b": "b"}, [("a", "b"), ("a", "b"), ("a", "gone")])
    assert [(line.source, line.target) for line in picture.lines] == [("a", "b")]


def test_a_long_label_is_shortened_and_its_box_stays_within_bounds() -> None:
    (box,) = draw_graph({"a": "x" * 300}, []).boxes
    assert box.label.endswith("…")
    assert box.width <= 230


def test_nothing_gives_an_empty_picture() -> None:
    picture = draw_graph({}, [])
    assert (picture.boxes, picture.lines, picture.height) == ((), (), 0)
