"""The stages of a backfill under way: chunks, validation, what was published."""

from __future__ import annotations

from collections.abc import Sequence

from calve.backfill.explaining import feeding_text
from calve.backfill.records import Backfill, Chunk, Stage
from calve.backfill.status import stage_status
from calve.server.dependencies import Json
from calve.ui.views.backfills.cells import chunk_cells
from calve.ui.views.backfills.plan import phase_status, stage_plan
from calve.ui.views.backfills.validation import validation_model

_WRONG = ("FAILED", "TIMED_OUT", "STOPPED")


def stage_models(backfill: Backfill, stages: Sequence[Stage], chunks: Sequence[Chunk]) -> list[Json]:
    """Each stage with what it has to do and what it has done."""
    return [
        _stage(backfill, stage, [chunk for chunk in chunks if chunk.stage == stage.ordinal])
        for stage in stages
    ]


def _stage(backfill: Backfill, stage: Stage, chunks: Sequence[Chunk]) -> Json:
    status = stage_status(backfill, stage, chunks)
    known = chunks or _planned(backfill, stage)
    return {
        **{name: value for name, value in status.items() if name not in ("chunk_list", "validation")},
        **stage_plan(stage.plan),
        "gets": feeding_text(stage.plan),
        "phase_status": phase_status(backfill, stage.phase),
        "phase_since": stage.updated_at,
        "ms_left": None if status["seconds_left"] is None else status["seconds_left"] * 1000,
        "failed": sum(status["chunks"].get(name, 0) for name in _WRONG),
        "cells": chunk_cells(known),
        "validation": [
            validation_model(table, report, backfill.plan.validation)
            for table, report in (stage.state.reports or {}).items()
        ],
        "published": _published(stage),
        "replay": _replay(stage),
    }


def _planned(backfill: Backfill, stage: Stage) -> list[Chunk]:
    """What the plan says of a stage whose chunks are not queued yet."""
    return [
        Chunk(backfill.id, stage.ordinal, number, 1, plan.lower, plan.upper, plan.records, "", None)
        for number, plan in enumerate(stage.plan.chunks)
    ]


def _published(stage: Stage) -> list[Json]:
    return [
        {
            "table": table,
            "base": target.base,
            "from": target.published_from,
            "to": target.published_to,
            "unchanged": target.published_to is not None and target.published_to == target.published_from,
            "moved": target.published_to is not None and target.published_from != target.base,
        }
        for table, target in stage.state.targets.items()
    ]


def _replay(stage: Stage) -> Json | None:
    """What was written again because main had moved; None if nothing was."""
    state = stage.state
    if state.round == 1:
        return None
    chunks = (state.replay or {}).get("chunks")
    return {
        "round": state.round,
        "chunks": None if chunks is None else len(chunks),
        "old_branches": list(state.old_branches),
    }
