"""IncrementalAggregate: the groups that a change touches are made anew, or added to."""

from __future__ import annotations

from typing import Any, ClassVar

from calve.steps.contract import Options
from calve.steps.patterns.options import AggregateOptions
from calve.steps.patterns.rendering.aggregate import AggregatePlan, render
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.step import Pattern


class IncrementalAggregate(Pattern):
    """The groups that a change touches are made anew, or added to."""

    name: ClassVar[str] = "IncrementalAggregate"
    options: ClassVar[type[Options]] = AggregateOptions

    def render_request(self, options: Any, request: Request) -> Rendered:
        """The SQL for a change and a target."""
        plan = AggregatePlan(
            query=options.query,
            keys=options.keys,
            current=options.current,
            additive=options.additive,
            count_column=options.count_column,
            atomic=options.atomic,
            partition_columns=options.partition_column,
        )
        return render(plan, request)
