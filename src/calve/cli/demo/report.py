"""What both ways took, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calve.cli.demo.site import Measure

if TYPE_CHECKING:
    from rich.table import Table

_KINDS = (
    ("rows", 1, "{:,.0f}"),
    ("bytes", 1_000_000, "{:,.1f} MB"),
    ("cpu_ms", 1000, "{:.1f} s"),
    ("wall_ms", 1000, "{:.1f} s"),
)
_HEADS = ("rows read", "file bytes", "task CPU", "wall time")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipeline, as both ways ran it."""

    name: str
    lookback: Measure
    incremental: Measure

    def to_json(self) -> dict[str, Any]:
        """The stage for programs."""
        return {
            "stage": self.name,
            **{
                kind: {
                    "lookback": getattr(self.lookback, kind),
                    "incremental": getattr(self.incremental, kind),
                }
                for kind, _, _ in _KINDS
            },
        }


def total(stages: Mapping[str, Stage]) -> Stage:
    """Both stages together."""
    found = stages.values()
    return Stage(
        "together",
        sum((stage.lookback for stage in found), Measure()),
        sum((stage.incremental for stage in found), Measure()),
    )


def draw(stages: Mapping[str, Stage], cycles: int) -> Table:
    """A table of both ways for each stage, and of the share that the incremental way needed."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=f"{cycles} daily runs of both pipelines", title_justify="left")
    made.add_column("stage")
    made.add_column("")
    for head in _HEADS:
        made.add_column(head, justify="right")
    for stage in (*stages.values(), total(stages)):
        made.add_row(stage.name, "lookback", *_cells(stage.lookback))
        made.add_row("", "incremental", *_cells(stage.incremental))
        shares = [_share(stage, kind) for kind, _, _ in _KINDS]
        made.add_row("", "[bold]share", *(f"[bold]{share}" for share in shares), end_section=True)
    return made


def _cells(measure: Measure) -> list[str]:
    return [form.format(getattr(measure, kind) / unit) for kind, unit, form in _KINDS]


def _share(stage: Stage, kind: str) -> str:
    before, after = getattr(stage.lookback, kind), getattr(stage.incremental, kind)
    return f"{after / before:.1%}" if before else "-"
