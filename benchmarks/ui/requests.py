"""Lists, asked for in this process: what the server itself takes, without a network."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import httpx2
from fastapi import FastAPI

from calve.server.app import PREFIX

LOOKS = 20
_WARM_UPS = 2

#: Paths by name. `{often}` is a workflow with very many instances, `{rare}` one with few.
PAGES: Mapping[str, str] = {
    "home": "/",
    "workflows": "/workflows",
    "workflows, in the middle": "/workflows?cursor=team_25.flow_00025",
    "workflows, a text": "/workflows?search=flow_00042",
    "workflows, a text that is nowhere": "/workflows?search=nothing_like_it",
    "workflows, failed": "/workflows?state=failed",
    "workflows, paused": "/workflows?state=paused",
    "workflows, blocked": "/workflows?state=blocked",
    "workflows, an owner": "/workflows?owner=person_7",
    "workflows, a tag": "/workflows?tag=tag_7",
    "workflow with many instances": "/workflows/{often}",
    "workflow with few instances": "/workflows/{rare}",
    "runs": "/runs",
    "runs, in the middle": "/runs?cursor={middle}",
    "runs, failed": "/runs?status=FAILED",
    "runs, timed out": "/runs?status=TIMED_OUT",
    "runs, in progress": "/runs?status=IN_PROGRESS",
    "runs of a workflow": "/runs?workflow={often}",
    "run": "/workflows/{often}/instances/1",
    "tables": "/tables",
    "lineage": "/lineage",
    "lineage of a workflow": "/lineage?name={rare}",
    "backfills": "/backfills",
    "signals": "/signals",
    "signals of a name": "/signals?name=arrived.table_00007",
    "settings": "/settings",
}
LISTS: Mapping[str, str] = {
    "workflows": "/workflows?limit=50",
    "workflows, a text": "/workflows?search=flow_00042",
    "workflows, a text that is nowhere": "/workflows?search=nothing_like_it",
    "instances": "/workflows/{often}/instances?first=50",
    "instances, the oldest": "/workflows/{often}/instances?last=50",
    "overview": "/workflows/{often}/overview",
    "timeline": "/workflows/{often}/timeline",
    "versions": "/workflows/{often}/versions/pagination?first=50",
    "runs": "/runs?limit=50",
    "runs, in the middle": "/runs?limit=50&cursor={middle}",
    "runs, failed": "/runs?limit=50&status=FAILED",
    "runs, timed out": "/runs?limit=50&status=TIMED_OUT",
    "runs, in progress": "/runs?limit=50&status=IN_PROGRESS",
    "runs of a workflow": "/runs?limit=50&workflow_id={often}",
    "failed runs of a workflow": "/runs?limit=50&workflow_id={often}&status=FAILED",
    "signals": "/signals",
    "signals of a name": "/signals?name=arrived.table_00007",
    "backfills": "/backfills",
    "lineage of a workflow": "/lineage/workflows/{rare}",
}


@dataclass(frozen=True, slots=True)
class Taken:
    """How long requests for one path took, in milliseconds."""

    path: str
    status: int
    size: int
    first: float
    others: Sequence[float]
    #: Time of this process alone, whatever else the machine is doing.
    cpu: Sequence[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.others)

    @property
    def p95(self) -> float:
        """What all but one in twenty took at most."""
        return sorted(self.others)[min(len(self.others) - 1, int(len(self.others) * 0.95))]


def all_paths(places: Mapping[str, object]) -> dict[str, str]:
    """Every path by its name, with what is there filled in."""
    pages = {f"page: {name}": path for name, path in PAGES.items()}
    lists = {f"API: {name}": PREFIX + path for name, path in LISTS.items()}
    return {name: path.format(**places) for name, path in {**pages, **lists}.items()}


def ask(app: FastAPI, path: str, looks: int = LOOKS) -> Taken:
    """Ask for a path again and again, once it is warm."""
    return asyncio.run(_ask(app, path, looks))


async def _ask(app: FastAPI, path: str, looks: int) -> Taken:
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        times, cpu = [], []
        for _ in range(1 + _WARM_UPS + looks):
            start, cpu_start = time.perf_counter(), time.process_time()
            response = await client.get(path, headers={"accept": "text/html, application/json"})
            times.append((time.perf_counter() - start) * 1000)
            cpu.append((time.process_time() - cpu_start) * 1000)
        warm = slice(1 + _WARM_UPS, None)
        return Taken(path, response.status_code, len(response.content), times[0], times[warm], cpu[warm])
