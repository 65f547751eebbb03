"""A backfill watched until it is over, or waits for somebody."""

from __future__ import annotations

import time
from typing import Any

from calve.cli import output
from calve.cli.backfill.view import stage_line, status_view
from calve.cli.client import Client, Json

_LOOK_S = 0.5
_GOES_ON = ("RUNNING",)


def follow(client: Client, backfill_id: int, quiet: bool) -> Json:
    """Show the backfill as it changes; how it stood last. Live on a terminal, line by line elsewhere."""
    console = output.make_console(quiet=quiet)
    if quiet or not console.is_terminal:
        return _follow_lines(client, backfill_id, console)
    from rich.live import Live

    found = client.backfill(backfill_id)
    with Live(status_view(found), console=console, refresh_per_second=4) as live:
        while _goes_on(found):
            time.sleep(_LOOK_S)
            found = client.backfill(backfill_id)
            live.update(status_view(found))
    return found


def _follow_lines(client: Client, backfill_id: int, console: Any) -> Json:
    said: dict[int, str] = {}
    while True:
        found = client.backfill(backfill_id)
        for stage in found["stages"]:
            line = stage_line(stage)
            if said.get(stage["stage"]) != line:
                console.print(line, markup=False)
                said[stage["stage"]] = line
        if not _goes_on(found):
            console.print(f"backfill {backfill_id}: {found['status']}{_waits(found)}", markup=False)
            return found
        time.sleep(_LOOK_S)


def _goes_on(found: Json) -> bool:
    """False also once nothing is left to do but for a person."""
    if found["status"] not in _GOES_ON:
        return False
    busy = [x for x in found["stages"] if x["phase"] not in ("PLANNED", "WAITING", "PUBLISHED")]
    ready = [
        x
        for x in found["stages"]
        if x["phase"] == "PLANNED" and all(found["stages"][y]["phase"] == "PUBLISHED" for y in x["after"])
    ]
    waits = found["waiting_for_approval"] and not found["auto_publish"]
    return bool(busy or ready or not waits)


def _waits(found: Json) -> str:
    if not found["waiting_for_approval"]:
        return ""
    return f", waits to be published: `calve backfill publish {found['backfill_id']}`"
