"""What the run showed: ratios with their targets, a table to read, a file to keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.playback.captures import Found
from benchmarks.playback.cycles import Cycle, Stage
from benchmarks.playback.metering import Cost, total
from benchmarks.playback.tricks import Tried

#: At most so much of the lookback's task CPU: stage 1, stage 2, both.
TARGETS = (0.07, 0.14, 0.10)
_STAGES = ("stage 1", "stage 2", "both")
MEASURES = {
    "task_cpu_seconds": "task CPU s",
    "jvm_cpu_seconds": "JVM CPU s",
    "wall_seconds": "wall s",
    "rows_read": "rows scanned",
    "file_bytes_read": "bytes of files opened",
}


@dataclass(frozen=True)
class Results:
    """All that was measured."""

    machine: dict[str, Any]
    settings: dict[str, Any]
    cycles: Sequence[Cycle]
    tried: Sequence[Tried]
    found: Sequence[Found]

    def mean(self, pair: str, stage: int | None = None) -> Cost:
        """A pair's cost of one cycle, on average over the cycles; of both stages without a stage."""
        stages: list[Stage] = [
            found
            for cycle in self.cycles
            for at, found in enumerate(getattr(cycle, pair))
            if stage in (None, at)
        ]
        return total([found.cost for found in stages]) / len(self.cycles)

    def share(self, measure: str, stage: int | None = None) -> float:
        """The incremental pair's part of the lookback's cost."""
        lookback = getattr(self.mean("lookback", stage), measure)
        return float(getattr(self.mean("incremental", stage), measure) / lookback) if lookback else 0.0

    def shares(self) -> list[dict[str, Any]]:
        """The ratios, with the targets of task CPU."""
        return [
            {
                "stage": name,
                "target_task_cpu": target,
                "met": self.share("task_cpu_seconds", stage) <= target,
                **{measure: round(self.share(measure, stage), 4) for measure in MEASURES},
            }
            for name, stage, target in zip(_STAGES, (0, 1, None), TARGETS, strict=True)
        ]

    def keep(self, path: Path) -> None:
        """Write everything to a file."""
        content = {
            "machine": self.machine,
            "settings": self.settings,
            "incremental_to_lookback": self.shares(),
            "cycles": [cycle.to_json() for cycle in self.cycles],
            "ways": [tried.to_json() for tried in self.tried],
            "captures": [found.to_json() for found in self.found],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def show(self, console: Console) -> None:
        """Print everything."""
        console.print(self._pairs())
        console.print(self._ways())
        console.print(self._captures())
        console.print(f"rows of the change: {self._change_rows():,.0f} a day")
        equal = all(found.is_equal for cycle in self.cycles for found in cycle.equal)
        lost = max((cycle.lost_rows for cycle in self.cycles), default=0)
        console.print(f"results equal on all days of the window: {'yes' if equal else 'NO'}")
        console.print(f"rows that came later than that, which only the incremental pair has: {lost:,}")

    def _change_rows(self) -> float:
        """The rows of the source that the incremental pair processes in a cycle."""
        return sum(cycle.incremental[0].change_rows for cycle in self.cycles) / len(self.cycles)

    def _pairs(self) -> Table:
        table = Table("", *MEASURES.values(), title="One daily cycle, mean over the warm cycles")
        for name, stage, target in zip(_STAGES, (0, 1, None), TARGETS, strict=True):
            for pair in ("lookback", "incremental"):
                cost = self.mean(pair, stage)
                table.add_row(f"{name}, {pair}", *(f"{getattr(cost, measure):,.1f}" for measure in MEASURES))
            shares = [f"{self.share(measure, stage):.1%}" for measure in MEASURES]
            table.add_row(f"{name}, share (target {target:.0%})", *shares, style="bold", end_section=True)
        return table

    def _ways(self) -> Table:
        table = Table(
            "stage", "way", "task CPU s", "share", "JVM CPU s", "equal", title="What each trick brings"
        )
        for tried in self.tried:
            lookback = self.mean("lookback", tried.stage - 1).task_cpu_seconds
            table.add_row(
                str(tried.stage),
                tried.name,
                f"{tried.cost.task_cpu_seconds:.1f}",
                f"{tried.cost.task_cpu_seconds / lookback:.1%}",
                f"{tried.cost.jvm_cpu_seconds:.1f}",
                "yes" if tried.equal else "NO",
            )
        return table

    def _captures(self) -> Table:
        table = Table("way", "seconds", "rows", title="The change of the last day")
        for found in self.found:
            table.add_row(found.way, f"{found.seconds:.3f}", f"{found.rows:,}")
        return table
