"""What else is in a state: signals, captures with their writes, backfills, an engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlalchemy import Table

from benchmarks.ui.scale import Scale
from benchmarks.ui.shapes import Flow, Row
from calve.backfill.records import StageState
from calve.backfill.rows import dump, state_text
from calve.engine.signals.encoding import encode
from calve.ledger.options import CaptureOptions
from calve.ledger.records import request_json
from calve.server.examples import ANSWERS
from calve.state.backfill import backfill_stages, backfills
from calve.state.clock import now_ms
from calve.state.orchestration import leases, signal_params, signals
from calve.state.schema import capture_writes, captures, chains, sources, target_tables
from calve.steps.incremental.naming import owner_of, run_ref_of

_MINUTE_MS = 60_000
_CHUNKS = 60
_REQUEST = json.dumps(request_json(CaptureOptions(), None, ()))


def surrounding_rows(made: Sequence[Flow], scale: Scale) -> Iterator[tuple[Table, Row]]:
    """All of it."""
    now = now_ms()
    yield from _signals(scale, now)
    yield from _captures([flow for flow in made if flow.is_incremental], scale, now)
    yield from _backfills(made, scale, now)
    yield (
        leases,
        {
            "generation": 1,
            "host": "bench",
            "pid": 1,
            "process_started": "1",
            "alive": True,
            "beat": 1,
            "started_at": now,
            "beaten_at": now + 24 * 60 * _MINUTE_MS,
        },
    )


def _signals(scale: Scale, now: int) -> Iterator[tuple[Table, Row]]:
    for at in range(scale.signals):
        name, seq_id = f"arrived.table_{at % scale.signal_names:05d}", at // scale.signal_names + 1
        yield (
            signals,
            {
                "name": name,
                "seq_id": seq_id,
                "uuid": f"signal-{at}",
                "params": json.dumps({"day": at}),
                "payload": json.dumps({"files": 3, "note": "x" * 100}),
                "source": None,
                "created_at": now - (scale.signals - at) * 10_000,
            },
        )
        yield signal_params, {"name": name, "param": "day", "value": encode(at), "seq_id": seq_id}


def _captures(made: Sequence[Flow], scale: Scale, now: int) -> Iterator[tuple[Table, Row]]:
    for number, flow in enumerate(made, start=1):
        yield (
            chains,
            {
                "id": number,
                "consumer": f"{flow.workflow_id}/capture",
                "table_uuid": f"uuid-{flow.source}",
                "branch": "main",
                "table_name": f"lake.db.{flow.source}",
                "version": 1,
                "known": True,
                "frontier": number,
                "links": "[]",
                "settled_at": now,
                "updated_at": now,
            },
        )
    newest: dict[str, Row] = {}
    for at in range(scale.captures):
        flow = made[at % len(made)]
        for table, row in _capture(at, flow, at % len(made) + 1, now - (scale.captures - at) * _MINUTE_MS):
            yield table, row
            if table is capture_writes:
                newest[str(row["target"])] = {key: row[key] for key in ("target", "landed_at", "capture_id")}
    yield from ((target_tables, row) for row in newest.values())


def _capture(at: int, flow: Flow, chain: int, moment: int) -> Iterator[tuple[Table, Row]]:
    name = f"capture-{at:07d}"
    yield (
        captures,
        {
            "id": name,
            "consumer": f"{flow.workflow_id}/capture",
            "status": "committed",
            "request": _REQUEST,
            "owner": owner_of(flow.workflow_id, 1, 1),
            "run_ref": run_ref_of(flow.workflow_id, 1, "capture"),
            "outcome": None,
            "keep": False,
            "created_at": moment,
            "ready_at": moment,
            "committed_at": moment + 30_000,
            "released_at": None,
            "failed_at": None,
            "dropped_at": moment + 40_000,
            "expires_at": None,
            "lookback": None,
        },
    )
    yield (
        sources,
        {
            "capture_id": name,
            "ordinal": 0,
            "chain_id": chain,
            "table_name": f"lake.db.{flow.source}",
            "table_uuid": f"uuid-{flow.source}",
            "branch": "main",
            "segments": "[]",
            "result": None,
        },
    )
    yield (
        capture_writes,
        {
            "capture_id": name,
            "statement": "process/1",
            "target": f"lake.db.{flow.target}",
            "text_hash": "x",
            "begun_at": moment,
            "snapshot_id": at + 1,
            "landed_at": moment + 20_000,
        },
    )


def _backfills(made: Sequence[Flow], scale: Scale, now: int) -> Iterator[tuple[Table, Row]]:
    plan = ANSWERS["POST /backfills"]["plan"]
    stage = {**plan["stages"][0], "chunks": plan["stages"][0]["chunks"] * (_CHUNKS // 2)}
    for number in range(1, scale.backfills + 1):
        flow = made[number % len(made)].workflow_id
        own = {**plan, "workflow_id": flow, "stages": [{**stage, "workflow_id": flow}]}
        yield (
            backfills,
            {
                "id": number,
                "workflow_id": flow,
                "status": "DONE" if number < scale.backfills else "PLANNED",
                "plan": dump(own),
                "reason": "loaded twice",
                "author": "bench",
                "auto_publish": False,
                "concurrency": 2,
                "instance_id": None,
                "created_at": now - (scale.backfills - number) * _MINUTE_MS,
                "started_at": None,
                "ended_at": None,
            },
        )
        yield (
            backfill_stages,
            {
                "backfill_id": number,
                "ordinal": 0,
                "workflow_id": flow,
                "phase": "PLANNED",
                "state": state_text(StageState()),
                "version": 1,
                "updated_at": now,
            },
        )
