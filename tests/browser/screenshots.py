"""Pictures of the pages for the docs: `make screenshots`."""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from browser.backfill_pictures import backfilled
from calve.lake.catalogs import Lake
from calve.ledger.ledger import connect
from calve.settings import load_settings
from calve.state.database import Database
from support.chromium import open_browser
from support.serving import eventually, running_server
from support.ui_day import spread_over_day
from support.ui_story import DAILY, DAYS, EVENTS, LOOP, arrive, definitions, make_tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
#: Where the machine that takes the pictures keeps its lake is nobody's business.
_HIDE = r"""() => {
  const place = /\/tmp\/\w+\/\w+/;
  for (const one of document.querySelectorAll("dd, td, code"))
    if (place.test(one.textContent)) one.textContent = one.textContent.replace(place, "/srv/calve");
}"""


def tell(api: httpx2.Client, lake: Lake) -> None:
    """The story: days that arrive one after the other, each processed, and some runs beside."""
    make_tables(lake)
    for text in definitions():
        api.post("/workflows/yaml", content=text).raise_for_status()
    for number in range(DAYS):
        arrive(lake, number)
        eventually(lambda: _is_quiet(api), f"the end of day {number}")
    api.post("/workflows/yaml", content=LOOP.replace("concurrency: 2", "concurrency: 4")).raise_for_status()
    for name in ("nightly_report", "nightly_report", "nightly_report", "import_titles"):
        _start(api, name)
    api.post("/signals", json={"name": "titles/ready", "params": {"day": 20260630}}).raise_for_status()
    eventually(lambda: _is_quiet(api), "the end of all runs")


def go_on(api: httpx2.Client) -> None:
    """What is at work while pictures are taken."""
    where = f"/workflows/catalog_sync/instances/{_start(api, 'catalog_sync')}/runs/latest/summary"

    def has_begun() -> bool:
        steps = api.get(where).json()["steps"]
        return bool(steps.get("compare", {}).get("status") == "RUNNING")

    eventually(has_begun, "a step that runs")


def consume(home: Path, lake: Lake) -> str:
    """Two more consumers of the events: one has an open capture, which is given, and one has only begun."""
    snapshots = lake.catalog("lake").load_table(EVENTS).metadata.snapshots
    with connect(home) as ledger:
        ledger.set_checkpoint(EVENTS, consumer="new_report", snapshot=str(snapshots[-6].snapshot_id))
        ledger.set_checkpoint(EVENTS, consumer="audit", snapshot=str(snapshots[-4].snapshot_id))
        return ledger.capture(EVENTS, consumer="audit", owner="ada", range_columns=["event_time"]).id


def _start(api: httpx2.Client, name: str) -> int:
    started = api.post(f"/workflows/{name}/versions/latest/actions/start", json={}).raise_for_status()
    return int(started.json()["workflow_instance_id"])


def _is_over(api: httpx2.Client, workflow: str | None = None) -> bool:
    named = {} if workflow is None else {"workflow_id": workflow}
    runs = api.get("/runs", params={"limit": 100, **named}).json()["runs"]
    return all(run["status"] not in ("CREATED", "IN_PROGRESS") for run in runs)


def _is_quiet(api: httpx2.Client) -> bool:
    if not _is_over(api):
        return False
    lag = api.get("/lag").json()["lag"]
    return len(lag) >= 2 and all(one["snapshots"] == 0 for one in lag)


def take(browser: Browser, url: str, pages: dict[str, str]) -> None:
    """A picture of each page, light."""
    for name, path in pages.items():
        _take_one(browser, url + path, name, 1280, "light")


def take_story(browser: Browser, url: str, pages: dict[str, str]) -> None:
    """All pages of the story; the home also dark and on a phone; the picture of late data by itself."""
    take(browser, url, pages)
    _take_one(browser, f"{url}/tables/lake.{EVENTS}", "late-data", 1280, "light", ".card:has(svg.heat)")
    _take_one(browser, url + "/", "home-dark", 1280, "dark")
    _take_one(browser, url + "/", "home-phone", 390, "light")


def _take_one(
    browser: Browser, url: str, name: str, width: int, scheme: str, part: str | None = None
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(url)
    page.wait_for_timeout(500)
    page.evaluate(_HIDE)
    file = FOLDER / f"{name}.png"
    if part is None:
        page.screenshot(path=file, full_page=True)
    else:
        page.locator(part).screenshot(path=file)
    context.close()
    sys.stdout.write(f"{name}.png\n")


def pages_of(api: httpx2.Client, open_capture: str) -> dict[str, str]:
    """Which pages are taken, by the name of the picture."""
    summary = api.get(f"/workflows/playback_daily/instances/{DAYS}/runs/latest/summary").json()
    capture = summary["steps"]["capture"]["params"]["capture_id"]
    return {
        "home": "/",
        "workflows": "/workflows",
        "workflow": "/workflows/playback_daily",
        "definition": "/workflows/nightly_report/definition?version=2&against=1",
        "start": "/workflows/import_titles/start",
        "runs": "/runs",
        "run": "/workflows/nightly_report/instances/3",
        "failed-step": "/workflows/import_titles/instances/1/steps/fetch",
        "tables": "/tables",
        "table": f"/tables/lake.{EVENTS}",
        "target": f"/tables/lake.{DAILY}",
        "capture": f"/captures/{capture}",
        "open-capture": f"/captures/{open_capture}",
        "lineage": "/lineage",
        "signals": "/signals",
        "settings": "/settings",
        "not-found": "/workflows/playback_dialy",
    }


def main() -> None:
    """Tell the story, unless the home that is named has it already, and take the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder) / "home"
        is_new = not home.exists()
        home.mkdir(exist_ok=True)
        with (
            running_server(home) as url,
            httpx2.Client(base_url=f"{url}/api/v3", timeout=60) as api,
            open_browser() as browser,
        ):
            assert browser is not None, "there is no Chromium: make browser"
            lake = Lake(load_settings(home))
            if is_new:
                tell(api, lake)
                with closing(Database(load_settings(home).state_url)) as database:
                    spread_over_day(database)
            go_on(api)
            take_story(browser, url, pages_of(api, consume(home, lake)))
            api.put("/workflows/catalog_sync/actions/stop").raise_for_status()
            eventually(lambda: _is_over(api, "catalog_sync"), "the end of what was at work")
        with backfilled(Path(folder) / "backfills") as (url, pages), open_browser() as browser:
            assert browser is not None
            take(browser, url, pages)


if __name__ == "__main__":
    main()
