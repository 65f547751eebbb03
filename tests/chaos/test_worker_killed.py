"""A worker killed with -9 in each status that a step can be seen in: nothing is lost or done twice."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from calve.engine.catalog.breakpoints import Place
from calve.engine.model.statuses import StepStatus
from support.http_server import Asked, Reply, http_server
from support.workers import Site, site, until

pytestmark = pytest.mark.slow
S = StepStatus


@pytest.fixture
def here(home: Path) -> Iterator[Site]:
    with site(home) as made:
        yield made


def one_step(job: str) -> str:
    return f"""
Workflow:
  id: w
  jobs:
    - job: {{id: before, type: NoOp}}
    - job:
        id: it
        {job}
    - job: {{id: after, type: NoOp}}
  dag: sequential
"""


@dataclass(frozen=True)
class Held:
    """A step that is held in a status, and what lets it go on."""

    status: StepStatus
    job: str
    let_go: Callable[[Site], object]
    prepare: Callable[[Site], object] = lambda site: None


MARK = "type: Shell\n        script: echo done >> {home}/marks"

HELD = {
    "waiting for a signal": Held(
        S.WAITING_FOR_SIGNALS,
        MARK + "\n        signal_dependencies: [{{name: go}}]",
        lambda site: site.orchestrator.send_signal("go", {}, {}, None),
    ),
    "paused by a breakpoint": Held(
        S.PAUSED,
        MARK,
        lambda site: site.orchestrator.delete_breakpoint(
            Place(workflow_id="w", step_id="it"), "tests", resume=True
        ),
        lambda site: site.orchestrator.add_breakpoint(Place(workflow_id="w", step_id="it"), "tests"),
    ),
    "waiting for permits": Held(
        S.WAITING_FOR_PERMITS,
        MARK + "\n        tags: [scarce]",
        lambda site: site.orchestrator.set_permit("scarce", 1),
        lambda site: site.orchestrator.set_permit("scarce", 0),
    ),
    "running": Held(
        S.RUNNING,
        "type: Shell\n        script: until [ -e {home}/go ]; do sleep 0.1; done; echo done >> {home}/marks",
        lambda site: (site.home / "go").touch(),
    ),
    "waiting for the next attempt": Held(
        S.USER_FAILED,
        "type: Shell\n        script: test -e {home}/go && echo done >> {home}/marks\n"
        "        retry_policy: {{error_retry_limit: 20, "
        "backoff: {{type: FIXED_BACKOFF, error_retry_backoff_in_secs: 1}}}}",
        lambda site: (site.home / "go").touch(),
    ),
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD.keys())
def test_a_step_goes_on_where_it_was_and_its_effect_comes_once(here: Site, held: Held) -> None:
    here.push(one_step(held.job.format(home=here.home)))
    held.prepare(here)
    worker = here.worker()
    instance = here.start("w")
    here.until_step("w", instance, "it", held.status)
    worker.kill()
    held.let_go(here)
    here.worker()
    assert here.until_over("w", instance)["status"] == "SUCCEEDED"
    assert (here.home / "marks").read_text() == "done\n"


def test_a_step_killed_while_it_starts_is_started_again_by_the_same_key(here: Site) -> None:
    with http_server() as server:

        def wait_and_answer(asked: Asked) -> Reply:
            server.release.wait(30)
            return Reply(body=b"ok")

        server.reply = wait_and_answer
        here.push(one_step(f"type: Http\n        http: {{url: {server.url}/effect, method: POST}}"))
        worker = here.worker()
        instance = here.start("w")
        until(lambda: server.asked or None)
        worker.kill()
        server.release.set()
        here.worker()
        assert here.until_over("w", instance)["status"] == "SUCCEEDED"
        # The server can tell by the key that it is the same request.
        assert len({asked.headers["Idempotency-Key"] for asked in server.asked}) == 1


MANY = """
Workflow:
  id: w
  jobs:
{jobs}
    - foreach:
        id: each
        ranges: {{n: {{to: 6}}}}
        jobs:
          - job: {{id: inner, type: Shell, script: "echo each$n >> {home}/marks"}}
  dag:
    - s0 -> s1 -> s2 -> each -> s3
    - s4 -> s5
"""
JOB = "    - job: {{id: s{n}, type: Shell, script: 'sleep 0.0{pause}; echo s{n} >> {home}/marks'}}"


def test_random_kills_lose_no_step_and_repeat_no_effect(here: Site) -> None:
    jobs = "\n".join(JOB.format(n=n, pause=n % 7, home=here.home) for n in range(12))
    here.push(MANY.format(jobs=jobs, home=here.home))
    instance = here.start("w")
    chance = random.Random(7)
    for _ in range(6):
        worker = here.worker()
        until_later(chance.uniform(0.05, 0.9))
        worker.kill()
    here.worker()
    over = here.until_over("w", instance)
    assert over["status"] == "SUCCEEDED"
    expected = [f"s{n}" for n in range(12)] + [f"each{n}" for n in range(6)]
    assert sorted((here.home / "marks").read_text().split()) == sorted(expected)


def until_later(seconds: float) -> None:
    """Give the worker a moment to live: what it gets done in it is up to chance."""
    import time

    time.sleep(seconds)
