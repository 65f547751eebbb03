"""The demo: days pass, events arrive, some of them late, and both pairs go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from calve.cli.client import Json
from calve.cli.demo.report import Stage
from calve.cli.demo.site import Measure, Site, measure
from calve.demo.files import own_folder, playback_folder

#: Days of history before the first daily run: the window of the lookback.
HISTORY = 14
LOOKBACK = ("playback_daily_workflow", "playback_daily_agg_workflow")
INCREMENTAL = ("ips_playback_daily_workflow", "ips_playback_daily_agg_workflow")
STAGES = ("1 daily", "2 aggregate")
_FILES = {
    "lookback": ("playback_daily.yaml", "playback_daily_agg.yaml"),
    "incremental": ("ips_playback_daily.yaml", "ips_playback_daily_agg.yaml"),
}

#: Says what is going on: a line that stays, or, with `False`, one that the next replaces.
Say = Callable[[str, bool], None]


@dataclass
class Story:
    """Plays the demo on a site, and keeps what everything took."""

    site: Site
    rows_per_day: int
    cycles: int
    say: Say
    #: The days end with this one, so that a lookback window of now is one over them.
    last_day: date
    taken: dict[str, Measure] = field(default_factory=dict)
    #: How many instances each incremental workflow has had.
    seen: dict[str, int] = field(default_factory=dict)

    def play(self) -> dict[str, Any]:
        """All of it; what the comparison says."""
        self._bring_history()
        for day in range(HISTORY, HISTORY + self.cycles):
            self._play_day(day)
        return self._compare(HISTORY + self.cycles - 1)

    @property
    def stages(self) -> dict[str, Stage]:
        """What each stage took, both ways, over all daily runs."""
        none = Measure()
        return {
            name: Stage(name, self.taken.get(lookback, none), self.taken.get(incremental, none))
            for name, lookback, incremental in zip(STAGES, LOOKBACK, INCREMENTAL, strict=True)
        }

    def _bring_history(self) -> None:
        site = self.site
        self.say("starting Spark", False)
        site.push([own_folder() / "source.yaml", own_folder() / "comparison.yaml"])
        self.say(f"{HISTORY} days of playback events arrive", False)
        self._bring(0, HISTORY - 1)
        self.say(f"{HISTORY} days of playback events: {HISTORY * self.rows_per_day:,} rows", True)
        site.push_resting([playback_folder() / name for name in _FILES["lookback"]])
        for workflow_id in LOOKBACK:
            site.run(workflow_id, self._watch, **self._window(HISTORY - 1))
        site.push([playback_folder() / name for name in _FILES["incremental"]])
        for workflow_id in INCREMENTAL:
            self._await(workflow_id)
        self.say("both pairs have processed the history", True)

    def _play_day(self, day: int) -> None:
        arrived = self._bring(day, day)
        late = arrived["steps"]["arrive"]["params"]["late_rows"]
        self.say(
            f"[bold]{self._day(day)}[/]  {self.rows_per_day:,} events arrive, {late:,} of them late", True
        )
        for workflow_id in INCREMENTAL:
            for summary in self._await(workflow_id):
                self._take(workflow_id, summary)
                self._tell_capture(summary)
        for workflow_id in LOOKBACK:
            self._take(workflow_id, self.site.run(workflow_id, self._watch, **self._window(day)))
            self.say(f"  {workflow_id} has read its 14 days", True)

    def _await(self, workflow_id: str) -> list[Json]:
        """What triggers have started since the last look."""
        before = self.seen.get(workflow_id, 0)
        found = self.site.await_triggered(workflow_id, before, self._watch)
        self.seen[workflow_id] = before + len(found)
        return found

    def _take(self, workflow_id: str, summary: Json) -> None:
        self.taken[workflow_id] = self.taken.get(workflow_id, Measure()) + measure(summary)

    def _tell_capture(self, summary: Json) -> None:
        params = summary["steps"]["capture"]["params"]
        step = summary["steps"]["capture"]
        took = step["ended_at"] - step["started_at"]
        days = len(params["changed_partitions"])
        self.say(
            f"  {summary['workflow_id']} was started by the change: {params['change_rows']:,} rows of "
            f"{days} day{'s' * (days > 1)}, captured in {took} ms",
            True,
        )

    def _compare(self, day: int) -> dict[str, Any]:
        self.say("comparing both results", False)
        summary = self.site.run("playback_comparison", self._watch, from_day=self._window(day)["from_day"])
        found: dict[str, Any] = summary["steps"]["compare"]["params"]
        return found

    def _watch(self, summary: Json) -> None:
        for step_id, step in summary["steps"].items():
            if step["status"] == "RUNNING":
                said = (step.get("progress") or {}).get("message", "")
                self.say(f"{summary['workflow_id']}  {step_id}  {said}", False)

    def _bring(self, from_day: int, to_day: int) -> Json:
        return self.site.run(
            "playback_source",
            self._watch,
            from_day=from_day,
            to_day=to_day,
            rows_per_day=self.rows_per_day,
            first_day=self._day(0),
        )

    def _day(self, number: int) -> str:
        return (self.last_day - timedelta(days=HISTORY + self.cycles - 1 - number)).isoformat()

    def _window(self, day: int) -> dict[str, str]:
        """The 14 days that end with a day."""
        return {"from_day": self._day(day - HISTORY + 1), "to_day": self._day(day)}
