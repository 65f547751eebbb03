"""RUNNING: chunks are queued as instances, and looked at until all are over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from calve.backfill.plan import Feeding
from calve.backfill.planning.chunk_params import fill_params, range_params
from calve.backfill.records import Chunk
from calve.backfill.stages.work import Work
from calve.backfill.statuses import Phase
from calve.backfill.store import note_instance, read_chunks
from calve.engine.catalog.versions import load_definition
from calve.engine.model.requests import RestartRequest, StartRequest
from calve.engine.model.statuses import RunStatus
from calve.engine.views.runs import run_summary
from calve.errors import FailedError
from calve.ledger.extents import extent_from_json
from calve.spark.step.failures import WRITE_CONFLICT
from calve.steps.incremental.backfilling import BackfillScope
from calve.workflow.params import ParamDefinition

_AT_ONCE = 500
_SHOWN = 5
_MOST_RUNS = 20


def run_chunks(work: Work) -> Work | None:
    """Queue what is not queued; None until all chunks have succeeded. Raises CHUNKS_FAILED."""
    chunks = _read(work)
    waiting = [chunk for chunk in chunks if chunk.instance_id is None]
    if waiting:
        _queue(work, waiting[:_AT_ONCE])
        return None
    failed = [chunk for chunk in chunks if _is_over(chunk) and chunk.status != RunStatus.SUCCEEDED]
    going_on = [chunk for chunk in failed if _went_on(work, chunk)]
    if going_on:
        return None
    if all(_is_over(chunk) for chunk in chunks):
        if failed:
            raise _failure(work, failed)
        on_branch = work.state.branch is not None
        return work.save(Phase.VALIDATING if on_branch else Phase.PUBLISHING, work.state)
    return None


def restart_failed(work: Work) -> int:
    """Let the chunks that did not succeed run again, from where they stopped; how many there are."""
    failed = [x for x in _read(work) if _is_over(x) and x.status != RunStatus.SUCCEEDED]
    for chunk in failed:
        _restart(work, chunk, f"run {work.attempt}")
    return len(failed)


def _restart(work: Work, chunk: Chunk, why: str) -> None:
    assert chunk.instance_id is not None
    request_id = work.request_id("chunk", chunk.ordinal, chunk.round, why)
    work.orchestrator.restart(
        RestartRequest(
            workflow_id=chunk.workflow_id,
            instance_id=chunk.instance_id,
            author=work.backfill.author,
            request_id=request_id,
        )
    )


def _went_on(work: Work, chunk: Chunk) -> bool:
    """Let a chunk that failed only because another one was writing run again; true if it does."""
    assert chunk.instance_id is not None
    with work.orchestrator.database.read() as connection:
        found = run_summary(connection, chunk.workflow_id, chunk.instance_id)
    codes = {step["error"].get("code") for step in found["steps"].values() if step.get("error")}
    if codes != {WRITE_CONFLICT} or found["run_id"] >= _MOST_RUNS:
        return False
    work.say(f"chunk {chunk.ordinal} met another writer, and runs again")
    _restart(work, chunk, f"after {found['run_id']}")
    return True


def progress(work: Work) -> dict[str, Any]:
    """How the stage stands, for its step."""
    chunks = _read(work)
    counts = Counter(chunk.status or "PLANNED" for chunk in chunks)
    done = counts[RunStatus.SUCCEEDED.value]
    shown = {"phase": work.stage.phase.value, "chunks": dict(counts), "round": work.state.round}
    if not chunks:
        return {"message": work.stage.phase.value.lower(), **shown}
    message = f"{work.stage.phase.value.lower()}: {done} of {len(chunks)} chunks"
    return {"message": message, "fraction": done / len(chunks), **shown}


def _read(work: Work) -> list[Chunk]:
    with work.orchestrator.database.read() as connection:
        return read_chunks(connection, work.backfill.id, work.stage.ordinal)


def _is_over(chunk: Chunk) -> bool:
    return chunk.status is not None and RunStatus(chunk.status).is_terminal


def _queue(work: Work, chunks: Sequence[Chunk]) -> None:
    requests = [_request(work, chunk) for chunk in chunks]
    started = work.orchestrator.start_all(requests)
    with work.orchestrator.database.write() as connection:
        for chunk, found in zip(chunks, started, strict=True):
            note_instance(connection, chunk, found.instance_id)


def _request(work: Work, chunk: Chunk) -> StartRequest:
    return StartRequest(
        workflow_id=chunk.workflow_id,
        request_id=work.request_id("chunk", chunk.ordinal, chunk.round),
        author=work.backfill.author,
        initiator=_scope(work, chunk).initiator(),
        params=_params(work, chunk),
    )


def _scope(work: Work, chunk: Chunk) -> BackfillScope:
    bounds = {"lower": chunk.lower, "upper": chunk.upper}
    sources = {
        table: extent_from_json({**pin, **bounds} if pin["kind"] == "range" else pin)
        for table, pin in (work.state.sources or {}).items()
    }
    return BackfillScope(
        backfill_id=work.backfill.id,
        stage=work.stage.ordinal,
        chunk=chunk.ordinal,
        round=chunk.round,
        branch=work.state.branch,
        targets=tuple(target.table for target in work.stage.plan.targets),
        sources=sources,
    )


def _params(work: Work, chunk: Chunk) -> dict[str, ParamDefinition]:
    plan, stage = work.backfill.plan, work.stage.plan
    templates = dict(plan.params) if work.stage.ordinal == 0 else {}
    with work.orchestrator.database.read() as connection:
        definition = load_definition(connection, stage.workflow_id, stage.version)
    if stage.feeding is Feeding.PARAMS:
        templates = range_params(definition, templates)
    return fill_params(definition, templates, chunk.lower, chunk.upper, plan.kind)


def _failure(work: Work, failed: Sequence[Chunk]) -> FailedError:
    named = [f"{chunk.workflow_id} {chunk.instance_id} ({chunk.lower})" for chunk in failed[:_SHOWN]]
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    return FailedError(
        "CHUNKS_FAILED",
        f"{len(failed)} chunks of '{work.stage.plan.workflow_id}' did not succeed: {', '.join(named)}{more}",
        f"look at their runs, then `calve backfill retry {work.backfill.id}`",
    )
