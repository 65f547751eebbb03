"""The home page."""

from __future__ import annotations

from typing import Annotated

from fastapi import Cookie
from sqlalchemy import select

from calve.server.dependencies import Json, Orchestrating
from calve.state.clock import now_ms
from calve.state.orchestration import workflows
from calve.ui.pages import Pages
from calve.ui.rendering import ZONE_COOKIE
from calve.ui.views.home.attention import attention
from calve.ui.views.home.day import last_day
from calve.ui.views.home.freshness import freshness
from calve.ui.views.home.running import running_now
from calve.ui.views.lineage.reading import read_lineage

pages = Pages()


@pages.page("/", "home.html")
def home(orchestrator: Orchestrating, zone: Annotated[str, Cookie(alias=ZONE_COOKIE)] = "UTC") -> Json:
    """What needs attention, what runs, how fresh tables are, and the last 24 hours."""
    now = now_ms()
    with orchestrator.database.read() as connection:
        # The page that is opened first waits for no definition to be read.
        lineage, _ = read_lineage(orchestrator, connection, at_once=0)
        return {
            "is_new": connection.execute(select(workflows.c.workflow_id).limit(1)).first() is None,
            "attention": attention(connection, now),
            "now": running_now(connection),
            "freshness": freshness(connection, lineage, now),
            "day": last_day(connection, now, zone),
            "command": "calve runs",
        }
