"""The snapshot line: where marks, times and lanes stand."""

from __future__ import annotations

from itertools import pairwise

import pytest

from calve.ui.drawing.snapshot_line import Lane, Snap, Stretch, draw_line


def snaps(count: int, operation: str = "append") -> list[Snap]:
    return [Snap(at, at * 1000, operation, at, 0) for at in range(count)]


def test_marks_stand_in_order_at_equal_distances_within_the_picture() -> None:
    line = draw_line(snaps(60), [])
    places = [mark.x for mark in line.marks]
    gaps = [round(after - before, 1) for before, after in pairwise(places)]
    assert max(gaps) - min(gaps) <= 0.2
    assert 0 < places[0] < places[-1] < line.width


def test_operations_are_told_by_shape_and_not_by_colour_alone() -> None:
    shapes = [
        draw_line([Snap(1, 0, x, 5, 0)], []).marks[0].path
        for x in ("append", "overwrite", "delete", "replace")
    ]
    assert len(set(shapes)) == 4
    assert ["a" in shapes[0], *(shape.count("L") for shape in shapes[1:])] == [True, 3, 2, 3]


def test_more_rows_are_a_larger_mark_that_does_not_touch_its_neighbours() -> None:
    def width(path: str) -> float:
        xs = [float(part.split()[0]) for part in path[1:-1].split("L")]
        return max(xs) - min(xs)

    few, many = draw_line([Snap(1, 0, "replace", 1, 0), Snap(2, 0, "replace", 10_000, 0)], []).marks
    assert width(few.path) < width(many.path)
    crowded = draw_line([Snap(at, 0, "replace", 9, 0) for at in range(60)], []).marks
    assert width(crowded[0].path) <= crowded[1].x - crowded[0].x + 0.2


def test_a_lane_lies_below_the_snapshots_that_it_is_about() -> None:
    stretches = (
        Stretch(0, 1, "committed", "cap_1"),
        Stretch(2, 2, "held", "cap_2"),
        Stretch(3, 3, "pending"),
    )
    line = draw_line(snaps(4), [Lane("one", stretches, 1), Lane("two", (), None)])
    first, second = line.lanes
    assert [(bar.state, bar.capture_id, bar.snapshots) for bar in first.bars] == [
        ("committed", "cap_1", 2),
        ("held", "cap_2", 1),
        ("pending", None, 1),
    ]
    for bar, own in zip(first.bars, ((0, 1), (2, 2), (3, 3)), strict=True):
        assert all(bar.x < line.marks[at].x < bar.x + bar.width for at in own)
    assert first.frontier_x is not None
    assert line.marks[1].x < first.frontier_x < line.marks[2].x
    assert (second.bars, second.frontier_x) == ((), None)
    assert second.y + line.bar_height < line.height
    assert line.axis_y < first.name_y < first.y < second.name_y


def test_names_stand_where_the_newest_snapshots_are_if_there_may_be_no_room_for_all() -> None:
    few, many = (draw_line(snaps(count), [Lane("one", (), None)]) for count in (3, 60))
    assert (few.lanes[0].name_x, few.lanes[0].name_anchor) == (few.start_x, "start")
    assert (many.lanes[0].name_x, many.lanes[0].name_anchor) == (many.end_x, "end")


@pytest.mark.parametrize("count", [1, 7, 26, 60])
def test_times_do_not_touch_each_other_and_the_newest_is_told(count: int) -> None:
    line = draw_line(snaps(count), [])
    assert line.ticks[-1].at == line.marks[-1].at
    for before, after in pairwise(line.ticks):
        assert after.x - before.x >= 120
    assert line.ticks[0].anchor == "start" or line.ticks[0].x >= 40


def test_a_table_without_snapshots_has_a_picture_without_marks() -> None:
    line = draw_line([], [Lane("one", (), None)])
    assert (line.marks, line.ticks, line.width) == ((), (), 320)
    assert line.to_json()["lanes"][0]["name"] == "one"
