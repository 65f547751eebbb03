"""The bars of pictures that have hundreds of them. Written here, as a template takes many times as long."""

from __future__ import annotations

from markupsafe import Markup, escape

from calve.server.dependencies import Json
from calve.ui.addresses import run_address, workflow_address
from calve.ui.formats import absolute, duration, words


def spark_bars(drawn: Json) -> Markup:
    """The bars of a sparkline, as `recent_runs` gives it; below those that failed stands a mark."""
    mark = drawn["foot"] + 2
    return Markup("\n".join(_spark_bar(bar, mark) for bar in drawn["bars"]))


def _spark_bar(bar: Json, mark: float) -> str:
    sides = f'x="{bar["x"]}" width="{bar["width"]}"'
    below = f'<rect class="bar" {sides} y="{mark}" height="2"/>' if bar["is_bad"] else ""
    return (
        f'<g class="s-{escape(bar["status"])}"><title>{escape(bar["title"])}</title>'
        f'<rect class="bar" {sides} y="{bar["y"]}" height="{bar["height"]}" rx="1"/>{below}</g>'
    )


def day_bars(row: Json, bar_height: float, zone: str) -> Markup:
    """The bars of one line of the last 24 hours: each leads to its run, or to the workflow of several."""
    top = row["y"] - bar_height / 2
    return Markup("\n".join(_day_bar(row["id"], bar, top, bar_height, zone) for bar in row["bars"]))


def _day_bar(workflow_id: str, bar: Json, top: float, height: float, zone: str) -> str:
    about = escape(_about(workflow_id, bar, zone))
    instance_id, run_id = map(int, bar["id"].split("/"))
    is_one = bar["count"] == 1
    address = run_address(workflow_id, instance_id, run_id) if is_one else workflow_address(workflow_id)
    return (
        f'<a href="{escape(address)}" aria-label="{about}" tabindex="-1"><title>{about}</title>'
        f'<rect class="bar s-{escape(bar["status"])}" x="{bar["x"]}%" y="{top}" width="{bar["width"]}%" '
        f'height="{height}" rx="2"/></a>'
    )


def _about(workflow_id: str, bar: Json, zone: str) -> str:
    when = f"{words(bar['status'])}, {absolute(bar['start'], zone)}"
    if bar["count"] > 1:
        return f"{workflow_id}: {bar['count']} runs, {when}"
    took = f", took {duration(bar['end'] - bar['start'])}" if bar["end"] else ""
    return f"{workflow_id} #{bar['id'].split('/')[0]}, {when}{took}"
