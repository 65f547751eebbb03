"""A run for the eyes: a tree of its steps, live on a terminal, line by line elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from calve.state.clock import now_ms

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

Json = dict[str, Any]

_STYLES = {
    "SUCCEEDED": "green",
    "COMPLETED_WITH_ERROR": "yellow",
    "SKIPPED": "yellow",
    "UNSATISFIED": "dim",
    "DISABLED": "dim",
    "NOT_CREATED": "dim",
    "RUNNING": "cyan",
    "IN_PROGRESS": "cyan",
    "STARTING": "cyan",
    "FINISHING": "cyan",
    "STOPPED": "magenta",
}
_MARKS = {
    "green": "✓", "red": "✗", "yellow": "!", "dim": "·", "cyan": "▸", "magenta": "■", "blue": "…"
}  # fmt: skip
_RED = ("FAILED", "TIMED_OUT")
_MS = 1000
_MINUTE = 60
_HOUR = 3600


def run_tree(run: Json) -> RenderableType:
    """The run and its steps, each with status, duration and progress."""
    from rich.tree import Tree

    tree = Tree(_line(f"{run['workflow_id']} · instance {run['instance_id']} · run {run['run_id']}", run))
    for step_id, step in run["steps"].items():
        branch = tree.add(_line(step_id, step))
        if step.get("error"):
            branch.add(_fault(step["error"]))
    if run.get("error"):
        tree.add(_fault(run["error"]))
    return tree


def follow_run(console: Console, changes: Iterable[Json]) -> Json:
    """Show a run until it is over; the run as it was last."""
    show = _live if console.is_terminal else _lines
    last: Json = {}
    for last in show(console, changes):  # noqa: B007 - what counts is the last one
        pass
    return last


def style_of(status: str) -> str:
    """The colour of a status."""
    if any(word in status for word in _RED):
        return "red"
    return _STYLES.get(status, "blue")


def duration(started_at: int | None, ended_at: int | None) -> str:
    """How long something took, or takes by now."""
    if started_at is None:
        return ""
    seconds = ((ended_at or now_ms()) - started_at) / _MS
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min {int(seconds % _MINUTE)} s"
    return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE)} min"


def _live(console: Console, changes: Iterable[Json]) -> Iterator[Json]:
    with _display(console) as update:
        for run in changes:
            update(run)
            yield run


@contextmanager
def _display(console: Console) -> Iterator[Any]:
    from rich.live import Live

    shown: Json = {}

    def render() -> RenderableType:
        return run_tree(shown) if shown else ""

    def update(run: Json) -> None:
        shown.update(run)
        live.refresh()

    # Rendered again by itself, so that durations go on while nothing else happens.
    with Live(console=console, get_renderable=render, refresh_per_second=4) as live:
        yield update


def _lines(console: Console, changes: Iterable[Json]) -> Iterator[Json]:
    seen: dict[str, str] = {}
    for run in changes:
        for step_id, step in run["steps"].items():
            if step["status"] not in ("NOT_CREATED", seen.get(step_id)):
                seen[step_id] = step["status"]
                console.print(_line(step_id, step))
        yield run
        last = run
    if seen or last:
        console.print(_line(f"{last['workflow_id']} · instance {last['instance_id']}", last))


def _line(name: str, thing: Json) -> Text:
    from rich.text import Text

    status = thing["status"]
    style = style_of(status)
    line = Text.assemble((_MARKS[style] + " ", style), name, "  ", (status, style))
    took = duration(thing.get("started_at"), thing.get("ended_at"))
    if took:
        line.append(f"  {took}", "dim")
    if thing.get("attempt_id", 1) > 1:
        line.append(f"  attempt {thing['attempt_id']}", "yellow")
    if (progress := _progress(thing.get("progress"))) and not thing.get("ended_at"):
        line.append(f"  {progress}", "cyan")
    return line


def _progress(progress: Json | None) -> str:
    if not progress:
        return ""
    parts = []
    if isinstance(progress.get("fraction"), int | float):
        parts.append(f"{progress['fraction']:.0%}")
    if progress.get("message"):
        parts.append(str(progress["message"]))
    return " ".join(parts)


def _fault(error: Any) -> Text:
    from rich.text import Text

    if not isinstance(error, dict):
        return Text(str(error), "red")
    made = Text.assemble((str(error.get("message", "")), "red"), (f" [{error.get('code', '')}]", "dim"))
    if error.get("remedy"):
        made.append(f"\n{error['remedy']}")
    return made
