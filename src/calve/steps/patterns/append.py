"""IncrementalAppend: rows of the change become rows of the target."""

from __future__ import annotations

from typing import Any, ClassVar

from calve.steps.contract import Options
from calve.steps.patterns.options import AppendOptions
from calve.steps.patterns.rendering.append import AppendPlan, render
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.step import Pattern


class IncrementalAppend(Pattern):
    """Rows of the change become rows of the target."""

    name: ClassVar[str] = "IncrementalAppend"
    options: ClassVar[type[Options]] = AppendOptions

    def render_request(self, options: Any, request: Request) -> Rendered:
        """The SQL for a change and a target."""
        plan = AppendPlan(options.query, by_name=options.by == "name")
        return render(plan, request)
