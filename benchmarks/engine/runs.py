"""How fast runs go: one step, a chain, many side by side, many runs at once, loops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.engine import flows
from benchmarks.engine.figures import Subject, figure, times
from benchmarks.engine.scale import Scale
from benchmarks.engine.site import Site, open_site
from benchmarks.engine.step_types import NOOP, Effect, Watched
from benchmarks.engine.stores import POSTGRESQL, SQLITE, Store
from benchmarks.report import Result, Target

ONE_STEP, CHAIN, PARALLEL, BURST, FOREACH = "one step", "chain", "parallel", "burst", "foreach"
_ONE_STEP = {SQLITE: Target("<=", 10), POSTGRESQL: Target("<=", 20)}
_CHAIN = {SQLITE: Target("<=", 4), POSTGRESQL: Target("<=", 8)}
_BURST = Target(">=", 150)
_PARALLEL_SQLITE = Target(">=", 200)
_PARALLEL_POSTGRESQL = Target(">=", 300)
_FOREACH_RATIO = Target("<=", 1.5)


@dataclass(frozen=True)
class _Kind:
    """A step type, and what it costs."""

    type: str
    label: str
    has_target: bool = False


_KINDS = (
    _Kind(NOOP, "no-op", has_target=True),
    _Kind(Effect.name, "acting"),
    _Kind(Watched.name, "acting, polled once"),
)


def measure_runs(store: Store, scale: Scale) -> Iterator[Result]:
    """All figures of runs on one kind of database."""
    for kind in _KINDS:
        subject = Subject(store.name, store.commits_per_s(scale.raw_s))
        with open_site(store) as site:
            yield from _latencies(site, subject, scale, kind)
            yield from _rates(site, subject, scale, kind)
    if store.name == POSTGRESQL:
        yield from _two_engines(store, scale)


def measure_loops(store: Store, scale: Scale) -> Iterator[Result]:
    """What an iteration costs in a short loop and in a long one."""
    subject = Subject(store.name, store.commits_per_s(scale.raw_s))
    with open_site(store) as site:
        site.push(flows.one_step(NOOP))
        site.run("one")
        found = []
        for iterations in (scale.foreach_few, scale.foreach_many):
            workflow_id = site.push(flows.foreach(NOOP, iterations))
            taken = times(lambda name=workflow_id: site.run(name), 3, warm_ups=0, each=iterations)  # type: ignore[misc]
            found.append(figure(subject, FOREACH, f"foreach of {iterations:,}: an iteration", taken))
    yield from found
    ratio = found[1].measured / found[0].measured
    yield Result(store.name, "foreach: many to few, an iteration", ratio, "x", _FOREACH_RATIO)


def _latencies(site: Site, subject: Subject, scale: Scale, kind: _Kind) -> Iterator[Result]:
    site.push(flows.one_step(kind.type))
    taken = times(lambda: site.run("one"), scale.one_step_runs, warm_ups=5)
    target = _ONE_STEP[subject.database] if kind.has_target else None
    yield figure(subject, ONE_STEP, f"{kind.label}: one-step run", taken, target=target)
    site.push(flows.chain(kind.type, scale.chain_steps))
    taken = times(lambda: site.run("chain"), scale.chain_runs, each=scale.chain_steps)
    target = _CHAIN[subject.database] if kind.has_target else None
    yield figure(subject, CHAIN, f"{kind.label}: chain of {scale.chain_steps}, a step", taken, target=target)


def _rates(site: Site, subject: Subject, scale: Scale, kind: _Kind, engines: str = "") -> Iterator[Result]:
    site.push(flows.parallel(kind.type, scale.parallel_steps))
    taken = times(lambda: site.run("parallel"), scale.parallel_runs, each=scale.parallel_steps)
    case = f"{kind.label}: {scale.parallel_steps} parallel steps{engines}"
    yield figure(subject, PARALLEL, case, taken, "steps/s", _parallel_target(subject, kind, engines))
    taken = times(lambda: site.run_many("one", scale.burst_runs), scale.burst_rounds, each=scale.burst_runs)
    case = f"{kind.label}: {scale.burst_runs} runs at once{engines}"
    yield figure(subject, BURST, case, taken, "runs/s", _BURST if kind.has_target else None)
    one_by_one = times(
        lambda: site.run_many("one", scale.burst_runs, together=False),
        scale.burst_rounds,
        each=scale.burst_runs,
    )
    case = f"{kind.label}: {scale.burst_runs} runs, one call each{engines}"
    yield figure(subject, BURST, case, one_by_one, "runs/s", None)


def _parallel_target(subject: Subject, kind: _Kind, engines: str) -> Target | None:
    if not kind.has_target:
        return None
    if subject.database == SQLITE:
        return _PARALLEL_SQLITE
    return _PARALLEL_POSTGRESQL if engines else None


def _two_engines(store: Store, scale: Scale) -> Iterator[Result]:
    subject = Subject(store.name, store.commits_per_s(scale.raw_s))
    kind, engines = _KINDS[0], ", 2 engine processes"
    with open_site(store, engine_processes=2) as site:
        site.push(flows.one_step(kind.type))
        taken = times(lambda: site.run("one"), scale.one_step_runs, warm_ups=10)
        yield figure(subject, ONE_STEP, f"{kind.label}: one-step run{engines}", taken)
        yield from _rates(site, subject, scale, kind, engines)
        taken = times(
            lambda: site.run_many("parallel", 4), scale.parallel_runs, each=4 * scale.parallel_steps
        )
        case = f"{kind.label}: 4 runs of {scale.parallel_steps} parallel steps{engines}"
        yield figure(subject, PARALLEL, case, taken, "steps/s")
