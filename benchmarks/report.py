"""Results: a target, what was measured, and whether it was met. Printed, and kept as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda measured, wanted: measured < wanted,
    "<=": lambda measured, wanted: measured <= wanted,
    ">=": lambda measured, wanted: measured >= wanted,
}


@dataclass(frozen=True)
class Target:
    """What a figure should be: `Target("<", 100)`."""

    sign: str
    value: float

    def met_by(self, measured: float) -> bool:
        """Whether a figure is good enough."""
        return _SIGNS[self.sign](measured, self.value)


@dataclass(frozen=True)
class Result:
    """One figure."""

    part: str
    case: str
    measured: float
    unit: str
    target: Target | None = None
    details: dict[str, Any] = field(default_factory=dict)
    load: float = field(default_factory=lambda: round(os.getloadavg()[0], 2))

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        return None if self.target is None else self.target.met_by(self.measured)

    def to_json(self) -> dict[str, Any]:
        """The figure as it is kept."""
        target = None if self.target is None else f"{self.target.sign} {self.target.value:g}"
        return {
            "part": self.part,
            "case": self.case,
            "measured": round(self.measured, 3),
            "unit": self.unit,
            "target": target,
            "met": self.met,
            "load_average": self.load,
            **self.details,
        }


def show(results: list[Result], console: Console, title: str) -> None:
    """Print all figures."""
    table = Table("part", "case", "measured", "target", "", title=title)
    for column in (2, 3):
        table.columns[column].justify = "right"
    verdicts = {True: "[green]met[/]", False: "[red]missed[/]", None: ""}
    part = ""
    for result in results:
        if part not in ("", result.part):
            table.add_section()
        target = "" if result.target is None else f"{result.target.sign} {result.target.value:,g}"
        measured = f"{result.measured:,.{0 if result.measured >= 1000 else 1}f} {result.unit}"
        shown = "" if result.part == part else result.part
        table.add_row(shown, result.case, measured, target, verdicts[result.met])
        part = result.part
    console.print(table)


def keep(results: list[Result], machine: dict[str, Any], path: Path) -> None:
    """Write all figures to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine, "results": [result.to_json() for result in results]}
    path.write_text(json.dumps(content, indent=2) + "\n")
