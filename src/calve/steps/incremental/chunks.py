"""Captures and sessions of a backfill's chunk: what its scope says, in the place of what is new.

What a chunk shows of a table may be whole files, of which only some rows are meant. The workflow's own SQL
must not have to know: it reads a temporary view of these rows, which every Spark session of the chunk makes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calve.errors import UsageError
from calve.lake.model import Changes, Mode
from calve.ledger.capture import Capture
from calve.ledger.extents import Extent, SourceRange
from calve.ledger.ledger import Ledger
from calve.spark.once.plan import WAP_BRANCH
from calve.steps.contract import StepContext
from calve.steps.incremental.backfilling import BackfillScope, scope_of
from calve.steps.incremental.naming import owner_of, run_ref_of
from calve.steps.incremental.options import IpCaptureOptions
from calve.steps.incremental.outputs import Source
from calve.steps.incremental.runs import abandonment
from calve.steps.incremental.scope import captures_of_step
from calve.steps.incremental.shared import ledger_of

#: What a capture step of a chunk keeps besides its capture: the views of its rows, by name.
VIEWS = "views"
#: By the fixed name that regular runs give to their ICDC table: what a chunk reads in its place.
NAMES = "names"
_DIGEST = 16


@dataclass(frozen=True, slots=True)
class ChunkSession:
    """What the Spark session of a step in a chunk needs; empty outside of backfills."""

    conf: Mapping[str, str] = field(default_factory=dict)
    #: Temporary views, by name: the queries that they stand for.
    views: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


def take_chunk(
    ledger: Ledger, context: StepContext, options: IpCaptureOptions, scope: BackfillScope
) -> Capture:
    """The capture of a chunk: what the scope says of each source. Raises BACKFILL_SOURCE_UNPLANNED."""
    tables = [str(ledger.lake.resolve(ask.table)) for ask in options.asks]
    return ledger.take_fixed(
        options.asks,
        {table: scope.extent_of(table) for table in tables},
        consumer=scope.consumer(context.step_id),
        options=options.capture_options,
        owner=owner_of(context.workflow_id, context.instance_id, context.run_id),
        run_ref=run_ref_of(context.workflow_id, context.instance_id, context.step_id),
        is_abandoned=abandonment(ledger.database),
        ttl=options.ttl,
    )


def rows_shown(
    capture: Capture, sources: Sequence[Source], options: IpCaptureOptions
) -> tuple[list[Source], dict[str, str]]:
    """The sources as the steps after the capture read them, and the views that show them so."""
    shown: list[Source] = []
    views: dict[str, str] = {}
    for source, extent in zip(sources, capture.record.extents, strict=True):
        changes = source.changes
        if options.wants_table and _hides_rows(changes, extent, options):
            name = view_name(capture.id, source.alias)
            views[name] = _query(changes)
            # By the range's own filter others choose rows who read files; that of a net change is for the
            # table itself only.
            kept = changes.row_filter if isinstance(extent, SourceRange) else None
            changes = replace(changes, icdc_table=name, row_filter=kept)
        shown.append(Source(source.alias, changes))
    return shown, views


def told_of_chunk(
    told: Mapping[str, Any], shown: Sequence[Source], views: Mapping[str, str], icdc_name: str | None
) -> dict[str, Any]:
    """What a capture step of a chunk keeps: its capture, read through the views."""
    seen = [{"icdc_table": x.changes.icdc_table, "row_filter": x.changes.row_filter} for x in shown]
    if len(shown) == 1:
        kept = {**told, **seen[0]}
    else:
        kept = {**told, "sources": [{**a, **b} for a, b in zip(told["sources"], seen, strict=True)]}
    table = shown[0].changes.icdc_table
    names = {} if icdc_name is None or table is None else {icdc_name: table}
    return {**kept, VIEWS: dict(views), NAMES: names}


def session_of(context: StepContext) -> ChunkSession:
    """What the Spark session of a step needs of the chunk that it runs in."""
    if context.run == 0:
        return ChunkSession()
    with ledger_of(context.settings).database.read() as connection:
        scope = scope_of(connection, context)
        found = None if scope is None else captures_of_step(connection, context)
    if scope is None:
        return ChunkSession()
    told = [] if found is None else list(found.told.values())
    return ChunkSession(
        conf={} if scope.branch is None else {WAP_BRANCH: scope.branch},
        views={name: query for one in told for name, query in one.get(VIEWS, {}).items()},
        names={name: table for one in told for name, table in one.get(NAMES, {}).items()},
    )


def view_name(capture_id: str, alias: str) -> str:
    """The view of the rows of one source of a capture."""
    return f"calve_rows_{hashlib.sha256(f'{capture_id}/{alias}'.encode()).hexdigest()[:_DIGEST]}"


def _hides_rows(changes: Changes, extent: Extent, options: IpCaptureOptions) -> bool:
    """Whether files hold rows besides those that are meant, and the workflow's SQL does not expect it.

    A workflow that captures net has to look at the row filter in its regular runs too.
    """
    if changes.row_filter is None or not changes.has_changes:
        return False
    return isinstance(extent, SourceRange) or options.capture_options.mode is Mode.APPEND


def _query(changes: Changes) -> str:
    if changes.icdc_table is None:
        raise UsageError(
            "ICDC_NOT_REGISTERED",
            f"rows of {changes.table} have to be chosen, and its ICDC table is not in the catalog",
            "set register_tables = true under [icdc] in calve.toml",
        )
    return f"SELECT * FROM {changes.icdc_table} WHERE {changes.row_filter}"
