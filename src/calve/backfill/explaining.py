"""A plan in words: the same data that is run."""

from __future__ import annotations

from collections.abc import Iterator

from calve.backfill.plan import Feeding, Order, Plan, StagePlan

_SHOWN = 3
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_STEP = 1000


def explain(plan: Plan) -> list[str]:
    """The lines of a plan."""
    return list(_lines(plan))


def _lines(plan: Plan) -> Iterator[str]:
    of_column = f" of {plan.column}" if plan.column else ""
    yield f"Backfill of {plan.workflow_id}: {plan.lower} to before {plan.upper}{of_column}, by {plan.chunk}"
    how = "newest" if plan.order is Order.NEWEST_FIRST else "oldest"
    where = "on branches, published when validated" if plan.on_branch else "directly into the targets"
    yield f"Chunks begin with the {how}; results are written {where}."
    for name, text in plan.params.items():
        yield f"Param {name} = {text}"
    for at, stage in enumerate(plan.stages):
        yield ""
        yield from _stage_lines(stage, at)
    if plan.warnings:
        yield ""
        yield from (f"Warning: {warning}" for warning in plan.warnings)


def _stage_lines(stage: StagePlan, at: int) -> Iterator[str]:
    after = f", after {', '.join(str(x + 1) for x in stage.after)}" if stage.after else ""
    yield f"{at + 1}. {stage.workflow_id} (version {stage.version}){after}"
    yield f"   gets: {feeding_text(stage)}"
    for source in stage.sources:
        yield f"   reads: {source.table}" + (f" by {source.column}" if source.column else "")
    for target in stage.targets:
        yield f"   changes: {target.table}" + (", emptied of the range first" if target.clear_column else "")
    if stage.chunks:
        about = "about " if at else ""
        yield f"   chunks: {about}{len(stage.chunks)}{_first_ones(stage)}"
    if stage.records is not None and stage.chunks:
        yield f"   to read: {stage.files:,} files, {stage.records:,} rows, {size_text(stage.bytes or 0)}"
    if stage.seconds is not None and stage.rows_per_second:
        yield (
            f"   takes: about {duration_text(stage.seconds)} of one chunk after the other, "
            f"at the {stage.rows_per_second:,.0f} rows a second of earlier runs"
        )


def feeding_text(stage: StagePlan) -> str:
    """What a stage gets to process."""
    if stage.feeding is Feeding.PARAMS:
        return "the range by its params"
    if stage.feeding is Feeding.NET:
        return "exactly what changed upstream, rows that went included"
    return "all live rows of the days that changed upstream" if stage.after else "all live rows of the range"


def _first_ones(stage: StagePlan) -> str:
    shown = [f"{chunk.lower} to before {chunk.upper}" for chunk in stage.chunks[:_SHOWN]]
    more = ", ..." if len(stage.chunks) > _SHOWN else ""
    return f" ({', '.join(shown)}{more})"


def size_text(size: float) -> str:
    """A number of bytes as people say it."""
    for unit in _UNITS:
        if size < _STEP or unit == _UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return ""


def duration_text(seconds: float) -> str:
    """A length of time as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
