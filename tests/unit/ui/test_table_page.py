"""The page of a table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, NestedField
from sqlalchemy import QueuePool

from calve.engine.orchestrator import Orchestrator
from calve.ledger.ledger import Ledger
from calve.ledger.writes import marker_of, note_begun
from calve.steps.incremental.shared import close_ledgers
from calve.ui.views.tables import history, page
from calve.ui.views.tables.arrivals import show_arrivals
from support.late_data import add_days, make_daily, stamp
from support.ledgers import append, head, make_ledger, make_table

pytestmark = pytest.mark.slow


@pytest.fixture
def ledger(orchestrator: Orchestrator) -> Iterator[Ledger]:
    with make_ledger(orchestrator.settings.home) as made:
        yield made
    close_ledgers()


def test_snapshots_and_what_each_consumer_has_of_them(
    ledger: Ledger, browser: TestClient, twins: TestClient
) -> None:
    table = make_table(ledger)
    ids = [append(table, 1), append(table, 2)]
    committed = ledger.capture("db.t", consumer="a/b")
    committed.commit()
    ids.append(append(table, 3, 4))
    held = ledger.capture("db.t", consumer="a/b", run_ref="flow/7/take")
    ids.append(append(table, 5))
    table.refresh().delete("id = 1")
    found = twins.get("/tables/db.t").json()
    picture = found["line"]["picture"]
    assert [mark["id"] for mark in picture["marks"]][:4] == ids
    assert [mark["operation"] for mark in picture["marks"]] == [*["append"] * 4, "delete"]
    (lane,) = picture["lanes"]
    assert [(bar["state"], bar["capture_id"], bar["snapshots"]) for bar in lane["bars"]] == [
        ("committed", committed.id, 2),
        ("held", held.id, 1),
        ("pending", None, 2),
    ]
    assert (found["head"]["rows"], found["head"]["partitioned_by"]) == (4, "not partitioned")
    (consumer,) = found["consumers"]
    assert (consumer["snapshots"], consumer["open_captures"]) == (3, [held.id])
    assert found["late"]["picture"] is None
    shown = browser.get("/tables/lake.db.t")
    assert shown.status_code == 200
    assert f'href="/captures/{held.id}"' in shown.text
    assert 'href="/workflows/flow/instances/7"' in shown.text
    assert "calve lag --table lake.db.t" in shown.text


def test_a_gap_and_what_was_committed_ahead_are_shown(ledger: Ledger, twins: TestClient) -> None:
    table = make_table(ledger)
    append(table, 1)
    ledger.capture("db.t", consumer="a").commit()
    append(table, 2)
    given_back = ledger.capture("db.t", consumer="a")
    append(table, 3)
    ahead = ledger.capture("db.t", consumer="a", parallel=True)
    ahead.commit()
    given_back.release()
    (lane,) = twins.get("/tables/db.t").json()["line"]["picture"]["lanes"]
    assert [bar["state"] for bar in lane["bars"]] == ["committed", "gap", "committed"]
    assert lane["bars"][2]["capture_id"] == ahead.id
    assert lane["bars"][1]["x"] > lane["frontier_x"] - 2


def test_manifests_are_read_while_no_connection_is_held(
    ledger: Ledger, orchestrator: Orchestrator, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(make_table(ledger), 1)
    held: list[int] = []
    pool = orchestrator.database._engine.pool
    assert isinstance(pool, QueuePool)

    def note(*given: Any) -> Any:
        held.append(pool.checkedout())
        return show_arrivals(*given)

    monkeypatch.setattr(page, "show_arrivals", note)
    assert twins.get("/tables/db.t").status_code == 200
    assert held == [0]


def test_late_rows_are_counted_and_drawn(
    ledger: Ledger, browser: TestClient, twins: TestClient, tmp_path: Path
) -> None:
    table = make_daily(ledger.lake)
    times = {add_days(table, tmp_path / "in", {day: 97}): day + 0.5 for day in range(5)}
    times[add_days(table, tmp_path / "in", {9: 100, 1: 15})] = 9.5
    stamp(ledger.lake, "db.events", times)
    late = twins.get("/tables/db.events").json()["late"]
    assert (late["column"], late["unit"], late["is_partitioned"], late["snapshots"]) == (
        *("event_time", "day", True),
        6,
    )
    heat = late["picture"]
    assert (heat["total"], heat["late"]) == (600, 15)
    assert heat["latest_by"] == pytest.approx(7.5 * 86_400_000, abs=1)
    (cell,) = (cell for cell in heat["cells"] if cell["late"])
    assert (cell["rows"], cell["event"]) == (15, "2024-03-02")
    shown = browser.get("/tables/db.events").text
    assert "<b>15</b> of 600 rows (2.5 %) are late, by up to <b>7 d 12 h</b>" in shown
    assert "15 rows of 2024-03-02" in shown


def test_arrival_is_by_snapshot_where_all_came_at_once_and_can_be_chosen(
    ledger: Ledger, browser: TestClient, twins: TestClient, tmp_path: Path
) -> None:
    table = make_daily(ledger.lake)
    for day in range(5):
        add_days(table, tmp_path / "in", {day: 97})
    add_days(table, tmp_path / "in", {5: 100, 1: 15})
    found = twins.get("/tables/db.events").json()["late"]
    assert (found["axis"], found["picture"]["late"]) == ("snapshot", 15)
    (latest,) = found["latest"]
    assert (latest["event"], latest["late"], latest["late_by"]) == ("2024-03-02", 15, 3 * 86_400_000)
    # They tell of days long ago: by the clock, all of them are late.
    by_time = twins.get("/tables/db.events", params={"axis": "time"}).json()["late"]
    assert (by_time["axis"], by_time["picture"]["late"]) == ("time", 600)
    shown = browser.get("/tables/db.events").text
    assert 'href="/tables/lake.db.events?axis=time#late"' in shown
    assert "<b>15</b> of 600 rows (2.5 %) are late, by up to <b>3 d</b>" in shown
    assert "up to 3 days: <b>15</b> rows" in shown
    assert 'data-late="15"' in shown
    assert (
        browser.get("/tables/db.events", params={"axis": "time"}).text.count('aria-current="true">time') == 1
    )
    assert browser.get("/tables/db.events", params={"axis": "size"}).status_code == 400


def test_a_date_is_its_whole_day(ledger: Ledger, twins: TestClient) -> None:
    catalog = ledger.lake.catalog("lake")
    catalog.create_namespace_if_not_exists("db")
    schema = Schema(NestedField(1, "day", DateType()))
    by_day = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "day"))
    table = catalog.create_table("db.dates", schema, partition_spec=by_day)
    days = [date(2024, 3, 1), date(2024, 2, 29), date(2024, 2, 28)]
    table.append(pa.table({"day": pa.array(days, pa.date32())}))
    # Almost a day after the second of the days had ended, and almost two after the third.
    stamp(ledger.lake, "db.dates", {head(table): 0.99})
    heat = twins.get("/tables/db.dates").json()["late"]["picture"]
    assert [cell["event"] for cell in heat["cells"] if cell["late"]] == ["2024-02-28"]
    assert heat["latest_by"] == pytest.approx(1.99 * 86_400_000, abs=1)


def test_a_snapshot_of_a_statement_names_its_run(ledger: Ledger, browser: TestClient) -> None:
    source, target = make_table(ledger), make_table(ledger, "db.target")
    append(source, 1)
    capture = ledger.capture("db.t", consumer="a", run_ref="flow/3/take")
    with ledger.database.write() as connection:
        note_begun(connection, capture.id, "write/1", "lake.db.target", "hash")
    marker = marker_of(capture.id, "write/1")
    target.append(source.scan().to_arrow(), snapshot_properties={"calve.statement": marker})
    shown = browser.get("/tables/db.target").text
    assert f'href="/captures/{capture.id}"' in shown
    assert 'href="/workflows/flow/instances/3"' in shown
    assert "write/1 under" in shown


def test_a_long_history_is_cut_and_captures_come_in_pages(
    ledger: Ledger, twins: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(ledger)
    monkeypatch.setattr(page, "LINE", 4)
    monkeypatch.setattr(page, "LISTED", 3)
    monkeypatch.setattr(history, "PAGE", 5)
    for number in range(6):
        append(table, number)
        ledger.capture("db.t", consumer="a").commit()
    found = twins.get("/tables/db.t").json()
    assert (len(found["line"]["picture"]["marks"]), found["line"]["is_cut"]) == (4, True)
    assert (len(found["snapshots"]), len(found["captures"])) == (3, 5)
    rest = twins.get("/tables/db.t", params={"before": found["older"]}).json()
    assert (len(rest["captures"]), rest["older"]) == (1, None)
    assert not {x["id"] for x in rest["captures"]} & {x["id"] for x in found["captures"]}
    by_time = twins.get("/tables/db.t", params={"axis": "time"}).json()
    last = twins.get(by_time["older_page"]).json()
    assert ([x["id"] for x in last["captures"]], last["older_page"]) == ([rest["captures"][0]["id"]], None)
    assert (rest["newer_page"], last["newer_page"]) == ("/tables/lake.db.t", "/tables/lake.db.t?axis=time")
    assert twins.get("/tables/db.t", params={"before": "x"}).status_code == 400


def test_a_consumer_beside_the_line_is_told(ledger: Ledger, browser: TestClient) -> None:
    table = make_table(ledger)
    first = append(table, 1)
    append(table, 2)
    ledger.capture("db.t", consumer="a").commit()
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    append(table, 3)
    assert "stands on a snapshot that main does not come from" in browser.get("/tables/db.t").text


def test_a_name_that_is_markup_is_shown_as_it_is(ledger: Ledger, browser: TestClient) -> None:
    make_table(ledger, "db.<i>x")
    shown = browser.get("/tables/db.%60%3Ci%3Ex%60")
    assert shown.status_code == 200
    assert "&lt;i&gt;x" in shown.text
    assert "<i>" not in shown.text


def test_a_table_without_snapshots_has_a_page(ledger: Ledger, browser: TestClient) -> None:
    make_table(ledger)
    shown = browser.get("/tables/db.t")
    assert shown.status_code == 200
    assert "The table has no snapshot yet." in shown.text
    assert "Nobody captures the changes of this table." in shown.text


def test_a_table_that_is_gone_shows_what_is_known_of_it(ledger: Ledger, browser: TestClient) -> None:
    append(make_table(ledger), 1)
    ledger.capture("db.t", consumer="a").commit()
    ledger.lake.catalog("lake").drop_table("db.t")
    shown = browser.get("/tables/db.t")
    assert shown.status_code == 200
    assert "there is no table lake.db.t" in shown.text
    assert "<h2>Captures</h2>" in shown.text


def test_a_table_whose_files_are_damaged_has_a_page_with_a_message(
    ledger: Ledger, browser: TestClient
) -> None:
    table = make_table(ledger)
    append(table, 1)
    ledger.capture("db.t", consumer="a").commit()
    append(table, 2)
    Path(table.metadata_location.removeprefix("file://")).write_text("{")
    shown = browser.get("/tables/db.t")
    assert shown.status_code == 200
    assert 'class="card problem"' in shown.text


@pytest.mark.parametrize(
    ("path", "status"), [("/tables/db.none", 404), ("/tables/none", 400), ("/tables/a.b.c", 400)]
)
def test_what_is_no_table_is_told(browser: TestClient, path: str, status: int) -> None:
    answer = browser.get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
