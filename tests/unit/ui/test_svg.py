from __future__ import annotations

from xml.etree import ElementTree as Xml

from hypothesis import given
from hypothesis import strategies as st

from calve.ui.svg import day_bars, spark_bars

#: What XML cannot say at all, no page can show.
TEXTS = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc", "Cn"]), min_size=1)
SPARK = {"x": 0, "y": 3.5, "width": 5, "height": 17.5, "is_bad": False, "status": "SUCCEEDED", "title": "t"}
DAY = {"id": "7/2", "status": "FAILED", "x": 1.5, "width": 0.4, "count": 1, "start": 0, "end": 61_000}


def parse(text: str) -> list[Xml.Element]:
    return list(Xml.fromstring(f"<svg>{text}</svg>"))


def row(workflow_id: str, *bars: dict[str, object]) -> dict[str, object]:
    return {"id": workflow_id, "y": 37.0, "bars": bars}


def test_a_bar_below_which_a_mark_stands_is_one_that_failed() -> None:
    good, bad = parse(spark_bars({"foot": 21, "bars": [SPARK, {**SPARK, "x": 7, "is_bad": True}]}))
    assert [part.get("y") for part in good.iter("rect")] == ["3.5"]
    assert [(part.get("x"), part.get("y")) for part in bad.iter("rect")] == [("7", "3.5"), ("7", "23")]


def test_a_bar_of_a_day_leads_to_its_run_and_one_of_several_to_their_workflow() -> None:
    several = {**DAY, "count": 3}
    one, many = parse(day_bars(row("sales/orders", DAY, several), 14.0, "Europe/Berlin"))
    assert one.get("href") == "/workflows/sales%2Forders/instances/7/runs/2"
    assert one.get("aria-label") == "sales/orders #7, failed, 1970-01-01 01:00:00 CET, took 1 min 01 s"
    assert many.get("href") == "/workflows/sales%2Forders"
    assert many.get("aria-label") == "sales/orders: 3 runs, failed, 1970-01-01 01:00:00 CET"
    assert one.find("rect").get("y") == "30.0"  # type: ignore[union-attr]


def test_a_run_that_goes_on_says_nothing_of_how_long_it_took() -> None:
    (bar,) = parse(day_bars(row("w", {**DAY, "end": None}), 14.0, "UTC"))
    assert bar.get("aria-label") == "w #7, failed, 1970-01-01 00:00:00 UTC"


@given(TEXTS)
def test_no_text_is_taken_for_markup(text: str) -> None:
    (spark,) = parse(spark_bars({"foot": 21, "bars": [{**SPARK, "title": text}]}))
    assert spark.findtext("title") == text
    (bar,) = parse(day_bars(row(text, DAY), 14.0, "UTC"))
    assert bar.get("aria-label") == f"{text} #7, failed, 1970-01-01 00:00:00 UTC, took 1 min 01 s"
