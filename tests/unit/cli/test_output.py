from __future__ import annotations

import pytest

from calve.cli import output

LONG = ["a_name_that_goes_on_" * 10, "2026-11-16 19:32:08"]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    output.make_console().print(output.table(["name", "created"], [list(LONG), ["b", None]]))
    return capsys.readouterr().out.splitlines()


def test_a_row_is_one_line_where_it_goes_to_a_program(lines: list[str]) -> None:
    assert [line.split() for line in lines[2:]] == [[LONG[0], *LONG[1].split()], ["b", "-"]]


class TestWhoeverNamesAWidth:
    @pytest.fixture(autouse=True)
    def _width(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "60")

    def test_gets_it(self, lines: list[str]) -> None:
        assert max(map(len, lines)) <= 60
        assert len(lines) > 4
