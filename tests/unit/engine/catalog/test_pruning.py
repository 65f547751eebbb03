"""Forgetting instances of long ago, against an oracle that knows the whole forest of runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select

from calve.engine.catalog import pruning
from calve.engine.catalog.pruning import Retention, prune_piece
from calve.engine.forgetting import forget
from calve.engine.places import run_place
from calve.errors import NotFoundError
from calve.settings import load_settings
from calve.state.database import Database
from calve.state.orchestration import commands, events, permits, runs, steps, workflows
from support.engine_rows import add_run, add_step, push_jobs, set_run, start

pytestmark = pytest.mark.slow

CUT = 1_000
OLD, NEW = CUT - 1, CUT
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class UndoneError(Exception):
    """Leaves nothing of a transaction."""


@dataclass(frozen=True)
class Made:
    """A run of a forest; `parent` is the number of another one, made before it."""

    workflow: str
    status: str
    ended: int
    blocking: bool
    parent: int | None
    inline: bool


@st.composite
def forests(draw: st.DrawFn) -> list[Made]:
    made: list[Made] = []
    for number in range(draw(st.integers(1, 14))):
        parent = draw(st.none() | st.integers(0, number - 1)) if number else None
        made.append(
            Made(
                draw(st.sampled_from(["a", "b"])),
                draw(st.sampled_from([*ENDED, *ENDED, "IN_PROGRESS"])),
                draw(st.sampled_from([OLD, OLD, OLD, NEW])),
                draw(st.sampled_from([False, False, False, True])),
                parent,
                parent is not None and draw(st.booleans()),
            )
        )
    return made


def top_of(forest: list[Made], number: int) -> int:
    parent = forest[number].parent
    return number if parent is None else top_of(forest, parent)


def expected(forest: list[Made], keep: int) -> set[int]:
    """The numbers of the runs that go, by the words of the promise."""
    instances = {w: [n for n, x in enumerate(forest) if x.workflow == w and not x.inline] for w in "ab"}
    newest = {n for numbers in instances.values() for n in numbers[len(numbers) - min(keep, len(numbers)) :]}
    gone: set[int] = set()
    for top in (n for n, x in enumerate(forest) if x.parent is None and n not in newest):
        tree = [n for n in range(len(forest)) if top_of(forest, n) == top]
        if all(forest[n].status in ENDED and forest[n].ended < CUT and not forest[n].blocking for n in tree):
            gone |= set(tree)
    return gone


def plant(connection: Connection, forest: list[Made]) -> dict[int, int]:
    """Make the runs, each with a step and an event; the key of each, by its number."""
    keys: dict[int, int] = {}
    counts = {"a": 0, "b": 0}
    for number, made in enumerate(forest):
        name, instance = f"loop_{number}", 1
        if not made.inline:
            counts[made.workflow] += 1
            name, instance = made.workflow, counts[made.workflow]
        values: dict[str, Any] = {
            "workflow_id": name, "instance_id": instance, "run_id": 1, "version": 1, "uuid": f"{number}",
            "status": made.status, "latest": True, "inline": made.inline, "ready": False,
            "blocking": made.blocking, "paused": False, "depth": 0, "initiator": "{}", "request": "{}",
            "params": "{}", "created_at": 1, "ended_at": made.ended if made.status in ENDED else None,
            "parent_run": None if made.parent is None else keys[made.parent],
        }  # fmt: skip
        key = connection.execute(insert(runs).values(values)).inserted_primary_key
        assert key is not None
        keys[number] = int(key[0])
        step = {
            "run": keys[number], "step_id": "s", "attempt_id": 1, "uuid": f"{number}", "status": "SUCCEEDED",
            "carried": False, "params": "{}", "retries": "{}", "created_at": 1,
        }  # fmt: skip
        connection.execute(insert(steps).values(step))
        told = {"at": 1, "kind": "run", "workflow_id": name, "run": keys[number], "data": "{}"}
        connection.execute(insert(events).values(told))
    for name, count in counts.items():
        workflow = {
            "workflow_id": name, "latest_version": 1, "latest_instance_id": count, "properties": "{}",
            "properties_version": 1, "paused": False, "created_at": 1, "updated_at": 1,
        }  # fmt: skip
        connection.execute(insert(workflows).values(workflow))
    return keys


def prune_all(connection: Connection, keep: int, is_trial: bool) -> int:
    """How many runs went in all pieces."""
    piece = prune_piece(connection, Retention(CUT, keep), 0, is_trial=is_trial)
    count = len(piece.runs)
    while piece.next_run is not None:
        piece = prune_piece(connection, Retention(CUT, keep), piece.next_run, is_trial=is_trial)
        count += len(piece.runs)
    return count


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(forest=forests(), keep=st.integers(1, 3), chunk=st.integers(1, 4))
def test_what_goes_is_what_was_promised_and_all_of_it(
    engine_db: Database, forest: list[Made], keep: int, chunk: int
) -> None:
    with suppress(UndoneError), engine_db.write() as connection, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pruning, "CHUNK", chunk)
        keys = plant(connection, forest)
        for is_trial in (True, False):
            assert prune_all(connection, keep, is_trial) == len(expected(forest, keep))
        stays = {key for number, key in keys.items() if number not in expected(forest, keep)}
        assert set(connection.execute(select(runs.c.id)).scalars()) == stays
        assert set(connection.execute(select(steps.c.run)).scalars()) == stays
        assert set(connection.execute(select(events.c.run)).scalars()) == stays
        raise UndoneError


def test_an_instance_goes_with_its_runs_and_its_files(engine_db: Database, home: Path) -> None:
    place = load_settings(home)
    push_jobs(engine_db, "w", "a")
    first = start(engine_db, "w").run
    set_run(engine_db, first, status="FAILED", ended_at=OLD, created_at=1, latest=False)
    again = add_run(engine_db, first, run_id=2, uuid="again", latest=True, status="SUCCEEDED")
    add_step(engine_db, again, "a", "SUCCEEDED")
    kept = start(engine_db, "w").run
    with engine_db.write() as connection:
        asked = {"run": first, "kind": "stop", "payload": "{}", "author": "x", "created_at": 1}
        connection.execute(insert(commands).values(asked))
        connection.execute(insert(permits).values(tag="t", run=first, step_id="a"))
    for run in (1, 2):
        folder = run_place(place, "w", 1, run) / "a" / "1"
        folder.mkdir(parents=True)
        (folder / "log.txt").write_text("said")
    other = run_place(place, "w", 2, 1)
    other.mkdir(parents=True)
    (*_, total) = forget(engine_db, place, Retention(CUT, 1), is_trial=True)
    assert (total.instances, total.runs) == (1, 2)
    assert run_place(place, "w", 1, 2).exists()
    (*_, total) = forget(engine_db, place, Retention(CUT, 1))
    assert (total.instances, total.runs) == (1, 2)
    with engine_db.read() as connection:
        assert connection.execute(select(runs.c.id)).scalars().all() == [kept]
        for table in (steps, commands, permits):
            assert connection.execute(select(table)).all() == []
    assert not run_place(place, "w", 1, 1).parent.exists()
    assert other.exists()
    (*_, total) = forget(engine_db, place, Retention(CUT, 1))
    assert total.instances == 0


def test_only_the_workflow_that_was_asked_for_is_pruned(engine_db: Database, home: Path) -> None:
    for name in ("one", "two"):
        push_jobs(engine_db, name, "a")
        for _ in range(2):
            set_run(engine_db, start(engine_db, name).run, status="SUCCEEDED", ended_at=OLD, created_at=1)
    (*_, total) = forget(engine_db, load_settings(home), Retention(CUT, 1, "one"))
    assert total.instances == 1
    with pytest.raises(NotFoundError, match="'three'"):
        list(forget(engine_db, load_settings(home), Retention(CUT, 1, "three")))
