"""The report of a backfill, as Markdown, made from its status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]


def report_markdown(status: Json) -> str:
    """What was asked for, what was done, what was compared and what was published."""
    return "\n".join(_lines(status)) + "\n"


def _lines(status: Json) -> Iterator[str]:
    yield f"# Backfill {status['backfill_id']} of {status['workflow_id']}"
    yield ""
    yield f"- status: {status['status']}"
    of_column = f" of `{status['column']}`" if status["column"] else ""
    yield f"- range: {status['from']} to before {status['to']}{of_column}"
    if status["reason"]:
        yield f"- reason: {status['reason']}"
    yield f"- by: {status['author']}"
    yield f"- ran: {status['started_at'] or 'not started'} to {status['ended_at'] or 'now'}"
    for warning in status["warnings"]:
        yield f"- warning: {warning}"
    for stage in status["stages"]:
        yield from _stage_lines(stage)


def _stage_lines(stage: Json) -> Iterator[str]:
    yield ""
    yield f"## {stage['stage'] + 1}. {stage['workflow_id']}"
    yield ""
    rounds = f", {stage['round']} rounds" if stage["round"] > 1 else ""
    yield f"{stage['phase']}: {stage['done']} of {stage['total']} chunks{rounds}."
    yield ""
    for table, target in stage["targets"].items():
        yield f"- `{table}`: {_published(target)}"
    if stage["validation"]:
        for table, found in stage["validation"].items():
            yield from _validation_lines(table, found)
    if stage["chunk_list"]:
        yield ""
        yield "| chunk | from | to | rows | status | run |"
        yield "|---|---|---|---|---|---|"
        for chunk in stage["chunk_list"]:
            run = f"{chunk['workflow_id']} {chunk['instance_id']}" if chunk["instance_id"] else ""
            yield (
                f"| {chunk['chunk']} | {chunk['from']} | {chunk['to']} | {chunk['records'] or ''} "
                f"| {chunk['status']} | {run} |"
            )


def _published(target: Json) -> str:
    if target["published_to"] is None:
        return "not published"
    if target["published_to"] == target["published_from"]:
        return "unchanged"
    return f"published, main went from snapshot {target['published_from']} to {target['published_to']}"


def _validation_lines(table: str, found: Json) -> Iterator[str]:
    from calve.backfill.spark.report import Report

    yield ""
    yield f"### Validation of `{table}`"
    yield ""
    yield Report.from_json(found).to_markdown().strip()
