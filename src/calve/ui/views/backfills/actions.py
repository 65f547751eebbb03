"""What may be done to a backfill as it stands, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calve.backfill.records import Backfill, Stage
from calve.backfill.statuses import BackfillStatus, Phase
from calve.server.dependencies import Json

#: What is told when an action was taken.
DONE_WORDS: Mapping[str, str] = {
    "run": "It runs.",
    "pause": "Paused: no further chunk begins.",
    "resume": "It goes on.",
    "retry": "What failed runs again.",
    "cancel": "Cancelled: what runs is being stopped.",
    "discard": "The branches are dropped.",
    "validate": "Branches are compared with main once more.",
    "publish": "What waits is being published.",
    "concurrency": "The number of chunks at a time is changed.",
}


def allowed_actions(backfill: Backfill, stages: Sequence[Stage]) -> list[Json]:
    """The buttons for a backfill in its present status, the most likely one first."""
    made = list(_publishing(backfill, stages))
    match backfill.status:
        case BackfillStatus.PLANNED:
            made += _runs(backfill)
        case BackfillStatus.RUNNING if backfill.instance_id is None:
            made += _runs(backfill)
        case BackfillStatus.RUNNING:
            made.append(
                _action("pause", "Pause", "Begin no further chunk? Those that run go on to their end.")
            )
        case BackfillStatus.PAUSED:
            made.append(_action("resume", "Resume", "Let it go on?"))
        case BackfillStatus.FAILED:
            question = "Go on after the failure? Only chunks that failed run again."
            made.append(_action("retry", "Retry", question))
        case BackfillStatus.CANCELLED if any(stage.state.branch is not None for stage in stages):
            question = "Drop the branches of this backfill? What is on them and was not published is gone."
            made.append(_action("discard", "Discard branches", question, danger=True))
    if not backfill.status.is_over:
        question = "Cancel it? What runs is stopped; what is published stays, nothing more is published."
        made.append(_action("cancel", "Cancel backfill", question, danger=True))
    return made


def read_options(fields: Mapping[str, str]) -> dict[str, Any]:
    """The options of an action, as the fields of its form say them."""
    options: dict[str, Any] = {name: True for name in ("auto_publish", "later_too") if fields.get(name)}
    concurrency = fields.get("concurrency", "").strip()
    if concurrency:
        is_number = concurrency.isascii() and concurrency.isdigit() and len(concurrency) < 10
        options["concurrency"] = int(concurrency) if is_number else concurrency
    return options


def _runs(backfill: Backfill) -> Iterator[Json]:
    if not backfill.plan.on_branch:
        yield _action("run", "Run", "Run this plan? Targets are written directly: readers see it at once.")
        return
    yield _action("run", "Run", "Run this plan? Results are on branches until you publish them.")
    question = "Run this plan, and publish what passes validation without asking again?"
    yield _action("run", "Run and publish", question, {"auto_publish": "1"})


def _publishing(backfill: Backfill, stages: Sequence[Stage]) -> Iterator[Json]:
    waiting = [stage for stage in stages if stage.phase is Phase.WAITING and not stage.state.approved]
    if not waiting or backfill.status.is_over:
        return
    names = ", ".join(f"'{stage.plan.workflow_id}'" for stage in waiting)
    yield _action("publish", "Publish", f"Publish what {names} wrote? Readers of its tables see it at once.")
    if any(stage.phase not in (Phase.WAITING, Phase.PUBLISHED) for stage in stages):
        question = f"Publish what {names} wrote, and later stages too as soon as they are validated?"
        yield _action("publish", "Publish all", question, {"later_too": "1"})
    yield _action("validate", "Validate again", "Compare branches with main once more?")


def _action(
    name: str, label: str, question: str, fields: Mapping[str, str] | None = None, danger: bool = False
) -> Json:
    given = dict(fields or {})
    return {
        "id": "-".join(["ask", name, *given]),
        "action": name,
        "label": label,
        "question": question,
        "fields": given,
        "danger": danger,
    }
