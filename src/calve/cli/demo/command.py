"""The command `calve demo`."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calve.cli import output
from calve.cli.demo import report
from calve.cli.demo.site import demo_site
from calve.cli.demo.story import Say, Story
from calve.cli.processes import run_dev_anywhere
from calve.cli.started import own_command
from calve.errors import FailedError, RefusedError
from calve.settings import load_settings

if TYPE_CHECKING:
    from rich.console import Console

_MARK = "calve-demo"
#: What to give next, and what it shows.
_NEXT = {
    "runs": "what ran, and why",
    "savings": "what was not read",
    "render ips_playback_daily_workflow": "the SQL that ran",
    "dev": "all of it in a browser",
}

HomeOption = Annotated[
    Path, typer.Option("--home", help="Where the lake of the demo is made; an earlier demo is removed.")
]
RowsOption = Annotated[int, typer.Option("--rows", min=1_000, help="Events that arrive on one day.")]
DaysOption = Annotated[int, typer.Option("--days", min=1, max=30, help="Daily runs of both pipelines.")]
ServeOption = Annotated[
    bool | None,
    typer.Option(
        "--serve/--no-serve", help="Serve the pages over it afterwards.", show_default="in a terminal"
    ),
]


def demo(
    home: HomeOption = Path("calve-demo"),
    rows: RowsOption = 20_000,
    days: DaysOption = 3,
    serve: ServeOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Run the playback pipeline by lookback and by change, on the same late data, and compare them.

    In a terminal it then serves the pages over what it made, until Ctrl-C.

    Example: calve demo --days 5 --rows 200000
    """
    _make_empty(home)
    began = time.monotonic()
    with _telling(json_output) as say, demo_site(home, rows) as site:
        story = Story(site, rows, days, say, datetime.now(UTC).date())
        found = story.play()
    seconds = time.monotonic() - began
    value = {
        "equal": found["equal"],
        "rows": {"daily": found["daily_rows"], "aggregate": found["agg_rows"]},
        "lost_by_lookback": found["lost_rows"],
        "stages": [stage.to_json() for stage in (*story.stages.values(), report.total(story.stages))],
        "seconds": round(seconds, 1),
        "home": str(home),
    }
    output.emit(value, json_output, lambda console: _show(console, story, value))
    if not found["equal"]:
        raise FailedError(
            "DEMO_DIFFERS", "the two results are not the same rows", "report it, with the output"
        )
    if serve or (serve is None and not json_output and sys.stdin.isatty() and sys.stdout.isatty()):
        run_dev_anywhere(load_settings(home))


def _make_empty(home: Path) -> None:
    """The demo begins from nothing, and removes only what a demo has left."""
    if home.exists():
        if not (home / _MARK).is_file():
            raise RefusedError(
                "DEMO_HOME_TAKEN", f"{home} is there, and is not of a demo", "give another place with --home"
            )
        shutil.rmtree(home)
    home.mkdir(parents=True)
    (home / _MARK).write_text("Made by `calve demo`, which may remove this folder.\n", encoding="utf-8")


@contextmanager
def _telling(quiet: bool) -> Iterator[Say]:
    """A way to say what is going on: lines that stay, above one that changes."""
    if quiet:
        yield lambda text, stays: None
        return
    from rich.console import Console

    console = Console(highlight=False)
    with console.status("…", spinner="dots") as status:

        def say(text: str, stays: bool) -> None:
            if stays:
                console.print(text)
            else:
                status.update(text)

        yield say


def _show(console: Console, story: Story, value: dict[str, Any]) -> None:
    console.print(report.draw(story.stages, story.cycles))
    console.print(
        "Bytes are the sizes of all files that scans opened. To find late rows again, the incremental pair "
        "opens what it has written, and reads few columns of it: many rows for little work. "
        "With so few rows most of the time goes into starting statements, which both ways do; "
        "with more of them the shares fall: try --rows 500000, or make bench-playback.\n"
    )
    rows = value["rows"]
    verdict = "[bold green]the same[/]" if value["equal"] else "[bold red]NOT the same[/]"
    console.print(
        f"Row for row, both results are {verdict}: {rows['daily']:,} rows, {rows['aggregate']:,} groups."
    )
    if value["lost_by_lookback"]:
        console.print(
            f"{value['lost_by_lookback']:,} rows came later than 14 days: the lookback has lost them, "
            "the incremental pair has them."
        )
    console.print(f"\n{value['seconds']:.0f} s. Where to look next:", markup=False)
    for line in next_lines(value["home"]):
        # A line that is broken cannot be copied.
        console.print(line, markup=False, soft_wrap=True)


def next_lines(home: str) -> list[str]:
    """Commands that show more of the demo, as they can be given in the same terminal."""
    program = own_command()
    commands = [f"CALVE_HOME={shlex.quote(home)} {program} {rest}" for rest in _NEXT]
    width = max(map(len, commands))
    return [f"  {command:<{width}}  {what}" for command, what in zip(commands, _NEXT.values(), strict=True)]
