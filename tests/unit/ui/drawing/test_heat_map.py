"""The heat map: rows by arrival against the time they tell of."""

from __future__ import annotations

import pytest

from calve.ui.drawing.heat_axes import Arrived
from calve.ui.drawing.heat_map import LEVELS, Axis, HeatMap, choose_axis, draw_heat

HOUR, DAY = 3_600_000, 86_400_000
START = 1_700_006_400_000 // DAY * DAY


def of_day(arrived: float, event: int, rows: int) -> Arrived:
    begin, at = START + event * DAY, START + int(arrived * DAY)
    return Arrived(at, begin, begin + DAY - 1, rows, at)


def brought(snapshot: int, event: int, rows: int) -> Arrived:
    """What a snapshot brought, all of them within a minute."""
    begin = START + event * DAY
    return Arrived(START + 400 * DAY + snapshot * 1000, begin, begin + DAY - 1, rows, snapshot)


def draw(*arrived: Arrived, unit: int = DAY, axis: Axis = "time") -> HeatMap:
    found = draw_heat(arrived, unit, axis)
    assert found is not None
    return found


def test_without_rows_there_is_no_picture() -> None:
    assert draw_heat([], DAY) is None
    assert draw_heat([of_day(0, 0, 0)], DAY) is None


def test_later_arrivals_are_right_and_newer_events_are_up() -> None:
    heat = draw(of_day(0.5, 0, 1), of_day(9.5, 0, 2), of_day(9.5, 9, 3))
    first, late, newest = heat.cells
    assert (first.rows, late.rows, newest.rows) == (1, 2, 3)
    assert first.x < late.x == newest.x
    assert first.y == late.y > newest.y
    assert (newest.event, late.event) == ("2023-11-24", "2023-11-15")


def test_rows_of_one_cell_are_added_up() -> None:
    heat = draw(of_day(20, 20, 1), of_day(20, 20, 2), of_day(0, 0, 5))
    assert sorted(cell.rows for cell in heat.cells) == [3, 5]
    assert heat.total == 8


@pytest.mark.parametrize(
    ("arrived", "late"),
    [(0.5, 0), (1.5, 0), (1.99, 0), (2.01, 7), (10, 7)],
)
def test_late_is_what_comes_more_than_a_unit_after_its_own_has_ended(arrived: float, late: int) -> None:
    heat = draw(of_day(arrived, 0, 7))
    assert heat.late == late
    assert heat.cells[0].late == late


def test_how_late_at_most() -> None:
    heat = draw(of_day(5, 0, 1), of_day(11, 0, 1), of_day(11, 11, 1))
    assert heat.latest_by == pytest.approx(10 * DAY, abs=1)


def test_the_diagonal_goes_through_what_is_on_time_and_late_rows_are_below_it() -> None:
    heat = draw(*(of_day(day + 0.5, day, 100) for day in range(20)), of_day(19.5, 3, 2))
    (x1, y1), (x2, y2) = heat.front
    assert x1 < x2
    assert y1 > y2
    for cell in heat.cells:
        middle = cell.x + heat.cell_width / 2
        on_line = y1 + (y2 - y1) * (middle - x1) / (x2 - x1)
        if cell.late:
            assert cell.y > on_line
        else:
            assert cell.y - 1 <= on_line <= cell.y + heat.cell_height + 1


def test_without_a_common_time_there_is_no_diagonal() -> None:
    assert draw(of_day(400, 0, 1), of_day(401, 1, 1)).front == ()


def test_one_row_of_another_age_does_not_flatten_the_rest() -> None:
    usual = [of_day(day + 0.5, day, 1000) for day in range(30)]
    ancient, ahead = Arrived(START + 29 * DAY, 0, DAY - 1, 1, 0), of_day(29.5, 40_000, 1)
    heat = draw(*usual, ancient, ahead)
    assert len({cell.y for cell in heat.cells}) == 30
    assert all(heat.top <= cell.y < heat.bottom for cell in heat.cells)
    assert heat.late == 1


@pytest.mark.parametrize("days", [1, 40, 400, 4000])
def test_a_picture_of_any_span_stays_of_a_size(days: int) -> None:
    heat = draw(*(of_day(day, day, 1) for day in range(days)))
    assert heat.width < 1300
    assert heat.height < 700
    assert all(heat.left <= cell.x < heat.right for cell in heat.cells)


def test_snapshots_within_seconds_are_told_apart() -> None:
    heat = draw(
        *(Arrived(START + at * 1000, START - at * DAY, START - at * DAY + 1, 1, at) for at in range(20))
    )
    assert len({cell.x for cell in heat.cells}) == 20


def test_hours_are_told_apart_where_partitions_do() -> None:
    heat = draw(
        *(
            Arrived(START + at * HOUR, START + at * HOUR, START + at * HOUR + HOUR - 1, 1, at)
            for at in range(24)
        ),
        unit=HOUR,
    )
    assert len({cell.y for cell in heat.cells}) == 24
    assert heat.late == 0


def test_shades_cover_all_numbers_and_the_most_is_the_strongest() -> None:
    heat = draw(of_day(0, 0, 1), of_day(1, 1, 50), of_day(2, 2, 100_000))
    assert heat.shades[0].least == 1
    assert (heat.shades[-1].most, heat.shades[-1].level) == (100_000, LEVELS)
    for before, after in zip(heat.shades, heat.shades[1:], strict=False):
        assert after.least == before.most + 1
        assert after.level == before.level + 1
    by_rows = {cell.rows: cell.level for cell in heat.cells}
    assert by_rows[1] < by_rows[50] < by_rows[100_000] == LEVELS
    assert [shade.level for shade in draw(of_day(0, 0, 1)).shades] == [LEVELS]


def test_time_is_chosen_where_it_tells_snapshots_apart_and_their_order_where_it_does_not() -> None:
    assert choose_axis([of_day(day + 0.5, day, 1) for day in range(9)], DAY) == "time"
    assert choose_axis([brought(number, number, 1) for number in range(9)], DAY) == "snapshot"
    # As many spans as snapshots, or no snapshot at all: nothing is gained by their order.
    assert choose_axis([of_day(day, day, 1) for day in range(3)], DAY) == "time"
    assert choose_axis([], DAY) == "time"


def test_by_snapshot_each_has_a_column_however_close_they_came() -> None:
    heat = draw(*(Arrived(START, START, START, 1, number) for number in range(20)), axis="snapshot")
    assert len({cell.x for cell in heat.cells}) == 20
    assert heat.cells[-1].arrived == "snapshot 20, 2023-11-15 00:00:00"


def test_by_snapshot_late_is_what_lies_behind_what_had_come_before() -> None:
    heat = draw(
        *(brought(day, day, 100) for day in range(10)),
        brought(10, 10, 100),
        brought(10, 9, 5),
        brought(10, 8, 6),
        brought(10, 2, 7),
        axis="snapshot",
    )
    assert {cell.rows: cell.late_by // DAY for cell in heat.cells if cell.late} == {6: 1, 7: 7}
    assert (heat.late, heat.latest_by) == (13, 7 * DAY)


def test_by_snapshot_a_stair_divides_what_is_late_from_what_is_not() -> None:
    some = [brought(day, day - back, 10) for day in range(12) for back in (0, 1, 2, 5)]
    heat = draw(*some, axis="snapshot")
    steps = {
        left: y for (left, y), (_, same) in zip(heat.front[::2], heat.front[1::2], strict=True) if y == same
    }
    # Nothing had come before the first.
    assert len(steps) == 11
    for cell in heat.cells[4:]:
        assert bool(cell.late) == (cell.y >= steps[cell.x] - 0.2), cell


def test_one_row_of_the_future_does_not_make_all_that_follows_late() -> None:
    some = [brought(day, day, 1000) for day in range(10)]
    assert draw(*some[:5], brought(4, 900, 1), *some[5:], axis="snapshot").late == 0


def test_dots_and_bands_say_how_late() -> None:
    heat = draw(
        of_day(19.5, 19, 100),
        of_day(19.5, 17, 1),
        of_day(19.5, 13, 2),
        of_day(19.5, 9, 4),
        of_day(19.5, 1, 8),
    )
    assert {cell.rows: len(cell.dots) for cell in heat.cells} == {100: 0, 1: 1, 2: 2, 4: 3, 8: 3}
    assert [(band.dots, band.over, band.up_to, band.rows) for band in heat.bands] == [
        (1, 0, 3, 1),
        (2, 3, 7, 2),
        (3, 7, None, 12),
    ]
    for cell in heat.cells:
        assert all(cell.x < dot < cell.x + heat.cell_width for dot in cell.dots)
    assert draw(of_day(0, 0, 1)).bands == ()


@pytest.mark.parametrize("snapshots", [1, 2, 96, 97, 200])
def test_many_snapshots_share_columns_and_stay_on_the_picture(snapshots: int) -> None:
    heat = draw(*(brought(number, number, 1) for number in range(snapshots)), axis="snapshot")
    assert len({cell.x for cell in heat.cells}) <= 96
    assert heat.width < 1300
    assert heat.total == snapshots
    assert all(heat.left <= x <= heat.right and heat.top <= y <= heat.bottom for x, y in heat.front)
    assert heat.columns[0].at == heat.left
