"""The heat map: rows by arrival against the time they tell of."""

from __future__ import annotations

import pytest

from calve.ui.drawing.heat_map import LEVELS, Arrived, HeatMap, draw_heat

HOUR, DAY = 3_600_000, 86_400_000
START = 1_700_006_400_000 // DAY * DAY


def of_day(arrived: float, event: int, rows: int) -> Arrived:
    begin = START + event * DAY
    return Arrived(START + int(arrived * DAY), begin, begin + DAY - 1, rows)


def draw(*arrived: Arrived, unit: int = DAY) -> HeatMap:
    found = draw_heat(arrived, unit)
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
    assert heat.diagonal is not None
    x1, y1, x2, y2 = heat.diagonal
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
    assert draw(of_day(400, 0, 1), of_day(401, 1, 1)).diagonal is None


def test_one_row_of_another_age_does_not_flatten_the_rest() -> None:
    usual = [of_day(day + 0.5, day, 1000) for day in range(30)]
    ancient, ahead = Arrived(START + 29 * DAY, 0, DAY - 1, 1), of_day(29.5, 40_000, 1)
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
    heat = draw(*(Arrived(START + at * 1000, START - at * DAY, START - at * DAY + 1, 1) for at in range(20)))
    assert len({cell.x for cell in heat.cells}) == 20


def test_hours_are_told_apart_where_partitions_do() -> None:
    heat = draw(
        *(Arrived(START + at * HOUR, START + at * HOUR, START + at * HOUR + HOUR - 1, 1) for at in range(24)),
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
