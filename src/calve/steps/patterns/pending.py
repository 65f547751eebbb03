"""What a capture step would capture now, without capturing it: nothing is reserved, nothing stays behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from calve.errors import NotFoundError
from calve.lake import Changes, drop_changes, open_table, plan_changes, write_changes
from calve.lake.model import Segment
from calve.ledger.asks import Source, resolve_sources
from calve.ledger.chain import Chain
from calve.ledger.holds import held_head, hold_of
from calve.ledger.ledger import Ledger
from calve.ledger.start import start_of
from calve.ledger.writing import change_request
from calve.steps.incremental.options import IpCaptureOptions
from calve.steps.patterns.finding import Found
from calve.steps.patterns.rendering.names import quote

_NAMESPACE = "icdc"


@contextmanager
def pending_changes(ledger: Ledger, consumer: str, options: IpCaptureOptions) -> Iterator[list[Found]]:
    """What waits in each source; the files that were written to find it out go when the block is left."""
    written: list[Changes] = []
    shown: list[Found] = []
    try:
        for source in resolve_sources(options.asks, options.capture_options):
            changes = _changes(ledger, consumer, source, options.start_from)
            written.append(changes)
            shown.append(Found(_named(changes, source.alias), source.alias))
        yield shown
    finally:
        for changes in written:
            drop_changes(ledger.lake, changes)


def _changes(ledger: Ledger, consumer: str, source: Source, start_from: str | None) -> Changes:
    table = open_table(ledger.lake, source.table)
    branch = source.options.branch
    chain = _chain(ledger, consumer, table.uuid, branch)
    if chain is None:
        start = None if start_from is None else start_of(start_from, table.metadata, branch)
        chain = Chain(start)
    hold = hold_of(ledger.holds(consumer), consumer, table.uuid, branch)
    head = held_head(table.metadata, branch, chain.end, hold)
    segments = chain.next_segments(head, source.options.mode) or (Segment(head, head),)
    plan = plan_changes(table, change_request(source.options, segments, f"{consumer}/render"))
    return write_changes(plan, ledger.settings.icdc.model_copy(update={"register": False}))


def _chain(ledger: Ledger, consumer: str, uuid: str, branch: str) -> Chain | None:
    try:
        known = [found.position for found in ledger.checkpoints(consumer=consumer)]
    except NotFoundError:
        return None
    mine = (found for found in known if found.table_uuid == uuid and found.branch == branch)
    return next((found.chain for found in mine), None)


def _named(changes: Changes, alias: str) -> Changes:
    """The change under names that show what would stand there."""
    removed = (
        None if changes.removed_metadata_location is None else f"{_NAMESPACE}.{quote(alias + '_removed')}"
    )
    return replace(changes, icdc_table=f"{_NAMESPACE}.{quote(alias + '_change')}", removed_table=removed)
