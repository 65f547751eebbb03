"""Every page with a story behind it: nothing is wrong in the console, everybody can read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from support.serving import eventually
from support.ui_story import DAILY, EVENTS, arrive, definitions, make_tables

from .conftest import Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

#: As long as an id may be, and a text of 300 characters without a place to break.
LONG, LONGER = "a_name_that_goes_on_" * 6, "x" * 300


def tell_story(site: Site) -> None:
    """Three days arrive, and all workflows run."""
    make_tables(site.lake)
    for number in range(3):
        arrive(site.lake, number, rows=60)
    for text in definitions():
        site.push(text)
    for name in ("import_titles", "nightly_report"):
        site.api.post(f"/workflows/{name}/versions/latest/actions/start", json={}).raise_for_status()
    site.api.post("/signals", json={"name": "titles/ready", "params": {"day": 20260630}}).raise_for_status()

    def all_over() -> bool:
        runs = site.api.get("/runs", params={"limit": 100}).json()["runs"]
        ran = {run["workflow_id"] for run in runs}
        over = all(run["status"] not in ("CREATED", "IN_PROGRESS") for run in runs)
        return over and {"playback_daily", "playback_summary", "nightly_report"} <= ran

    eventually(all_over, "the end of all runs")


def test_every_page_is_whole_for_everybody(page: Page, site: Site, check_page: Callable[[], None]) -> None:
    tell_story(site)
    summary = site.api.get("/workflows/playback_daily/instances/1/runs/latest/summary").json()
    capture = summary["steps"]["capture"]["params"]["capture_id"]
    paths = [
        "/",
        "/workflows",
        "/workflows?search=play",
        "/workflows/playback_daily",
        "/workflows/nightly_report",
        "/workflows/nightly_report/definition",
        "/workflows/nightly_report/start",
        "/runs",
        "/workflows/nightly_report/instances/1",
        "/workflows/nightly_report/instances/1/steps/each",
        "/workflows/playback_daily/instances/1",
        "/workflows/playback_daily/instances/1/steps/write",
        "/tables",
        f"/tables/lake.{EVENTS}",
        f"/tables/lake.{DAILY}",
        f"/captures/{capture}",
        "/lineage",
        f"/lineage?name=lake.{DAILY}",
        "/backfills",
        "/backfills/new?workflow=playback_daily",
        "/signals",
        "/settings",
        "/docs",
        "/login",
        "/preferences/zone",
    ]
    for path in paths:
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        check_page()


def test_pages_over_nothing_say_what_to_do(page: Page, site: Site, check_page: Callable[[], None]) -> None:
    for path in ("/", "/workflows", "/runs", "/tables", "/lineage", "/backfills", "/signals", "/settings"):
        page.goto(path)
        check_page()


def test_long_names_and_hostile_ones_break_nothing(
    page: Page, site: Site, check_page: Callable[[], None]
) -> None:
    text = f"""
Properties: {{owner: "<script>alert(1)</script>"}}
Workflow:
  id: {LONG}
  name: {LONGER[:250]}
  description: "<img src=x onerror=alert(1)> {LONGER}"
  some_param: {LONGER}
  tags: ["{LONG[:100]}"]
  jobs:
    - job:
        id: {LONG}
        type: Shell
        script: "echo '<script>alert(1)</script>'; exit 1"
        retry_policy: {{error_retry_limit: 0}}
"""
    site.push(text)
    site.api.post(f"/workflows/{LONG}/versions/latest/actions/start", json={}).raise_for_status()
    eventually(
        lambda: site.api.get("/runs").json()["runs"][0]["status"] == "FAILED" or None, "the end of the run"
    )
    place = f"/workflows/{LONG}"
    for path in ("/", "/workflows", place, f"{place}/instances/1", f"{place}/instances/1/steps/{LONG}"):
        page.goto(path)
        check_page()


def test_a_graph_of_200_steps_is_shown(page: Page, site: Site, check_page: Callable[[], None]) -> None:
    layers = [[f"layer_{layer}_step_{step}" for step in range(10)] for layer in range(20)]
    jobs = "\n".join(f"    - job: {{id: {name}, type: NoOp}}" for layer in layers for name in layer)
    edges = "\n".join(
        f"    - {before}: [{', '.join({layers[at + 1][step], layers[at + 1][(step * 7 + at) % 10]})}]"
        for at in range(19)
        for step, before in enumerate(layers[at])
    )
    site.push(f"Workflow:\n  id: wide\n  jobs:\n{jobs}\n  dag:\n{edges}\n")
    site.api.post("/workflows/wide/versions/latest/actions/start", json={}).raise_for_status()
    eventually(lambda: site.api.get("/runs").json()["runs"][0]["status"] == "SUCCEEDED" or None, "its end")
    for path in ("/workflows/wide", "/workflows/wide/instances/1"):
        page.goto(path)
        assert page.locator(".graph .node").count() == 200
        check_page()
