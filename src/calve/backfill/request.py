"""What a user asks of a backfill, before anything of it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from calve.backfill.plan import Order, Validation

ALL = "all"
NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillRequest:
    """A range of history to be processed again."""

    workflow_id: str
    #: Texts, read as values of the column; `lower` inclusive, `upper` exclusive.
    lower: str
    upper: str
    #: The column of the sources; None: the one that the source is partitioned by in time.
    column: str | None = None
    #: `day`, `hour`, `<n>files`, or `whole`.
    chunk: str = "day"
    #: `all`, `none`, or names of workflows.
    downstream: tuple[str, ...] = (ALL,)
    params: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    order: Order = Order.NEWEST_FIRST
    concurrency: int = 2
    #: False: targets are written directly, and nothing is validated or published.
    on_branch: bool = True
    #: False: rows of the range stay in the targets while chunks write.
    clear: bool = True
    validation: Validation = field(default_factory=Validation)
