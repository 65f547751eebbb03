"""IncrementalRange: everything from the earliest affected point on is made anew."""

from __future__ import annotations

from typing import Any, ClassVar

from calve.steps.contract import Options
from calve.steps.patterns.options import RangeOptions
from calve.steps.patterns.rendering.range import RangePlan, render
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.step import Pattern


class IncrementalRange(Pattern):
    """Everything from the earliest affected point on is made anew."""

    name: ClassVar[str] = "IncrementalRange"
    options: ClassVar[type[Options]] = RangeOptions

    def render_request(self, options: Any, request: Request) -> Rendered:
        """The SQL for a change and a target."""
        plan = RangePlan(
            query=options.query,
            range_column=options.range_column,
            target_column=options.target_range_column,
            context_before=options.context_before,
        )
        return render(plan, request)
