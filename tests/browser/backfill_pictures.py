"""A backfill on a real Spark, for the pictures of its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.backfill_pipeline import Pipeline, pipeline
from support.serving import running_server

_DAYS = 14
_ACCOUNTS = "abcd"


@contextmanager
def backfilled(home: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A server with one backfill that waits to be published and one that is only planned; their pages."""
    home.mkdir()
    with pipeline(home) as pipe:
        pipe.make()
        for number in range(_DAYS):
            pipe.add(*((number, key, _ACCOUNTS[key % 4], 10 * key) for key in range(1, 9)))
        pipe.run_all()
        pipe.push(factor=3)
        waiting = _run(pipe, 2, 9)
        planned = pipe.plan(9, 12, auto_publish=False, reason="two days came twice")
        with running_server(home, with_engine=False) as url:
            yield (
                url,
                {
                    "backfills": "/backfills",
                    "backfill-plan": f"/backfills/{planned}",
                    "backfill": f"/backfills/{waiting}",
                },
            )
        pipe.backfills.cancel(waiting, "ada")


def _run(pipe: Pipeline, first: int, last: int) -> int:
    """A backfill of the first stage, up to where somebody has to say that it may be published."""
    made = pipe.plan(first, last, auto_publish=False, reason="seconds were counted wrong")
    pipe.backfills.start(made, "ada")
    pipe.until_waiting(made)
    return made
