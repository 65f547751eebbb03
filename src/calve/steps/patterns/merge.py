"""IncrementalMerge: rows of the change take the place of rows with the same key."""

from __future__ import annotations

from typing import Any, ClassVar

from calve.steps.contract import Options
from calve.steps.patterns.options import MergeOptions
from calve.steps.patterns.rendering.merge import MergePlan, render
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.step import Pattern


class IncrementalMerge(Pattern):
    """Rows of the change take the place of rows with the same key."""

    name: ClassVar[str] = "IncrementalMerge"
    options: ClassVar[type[Options]] = MergeOptions

    def render_request(self, options: Any, request: Request) -> Rendered:
        """The SQL for a change and a target."""
        plan = MergePlan(
            query=options.query,
            keys=options.keys,
            order_by=options.order_by,
            update_when=options.update_when,
            delete_when=options.delete_when,
            updates=options.when_matched == "update",
            unique_source=options.source_keys == "unique",
            match_on=options.match_on,
            atomic=options.atomic,
            rare_repeats=options.repeats == "rare",
            partition_columns=options.partition_column,
        )
        return render(plan, request)
