"""Whether much that waits, or much that is over, slows what is new.

The crowd is made by copying one real run in the database, so that it looks as if it had come by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import (
    Connection,
    Table,
    Text,
    cast,
    insert,
    literal,
    select,
    true,
    update,
)

from benchmarks.engine import flows
from benchmarks.engine.figures import Subject, figure, times
from benchmarks.engine.scale import Scale
from benchmarks.engine.site import AUTHOR, Site, open_site
from benchmarks.engine.step_types import NOOP
from benchmarks.engine.stores import Store
from benchmarks.report import Result, Target
from benchmarks.settling import settle
from calve.engine.model.requests import Started
from calve.engine.views.pages import PageRequest
from calve.engine.views.run_documents import instances_page
from calve.engine.views.workflow_list import list_workflows
from calve.engine.views.workflows import workflow_overview
from calve.state.orchestration import events, runs, steps, workflows

_QUEUED_RATIO = Target("<=", 2)
#: "Does not slow anything", give or take what two measurements of the same thing differ by.
_FINISHED_RATIO = Target("<=", 1.25)
_PAGE = 50
_WARM_UPS = 5

Actions = dict[str, Callable[[], object]]


def measure_queued(store: Store, scale: Scale) -> Iterator[Result]:
    """Starts while many instances wait behind a paused workflow, and behind one that runs one at a time."""
    subject = Subject(store.name, store.commits_per_s(scale.raw_s))
    with open_site(store) as empty, open_site(store) as crowded:
        few, many = _with_queues(empty, 0), _with_queues(crowded, scale.queued)
        yield from _compare(subject, f"{scale.queued:,} queued", few, many, _QUEUED_RATIO, scale)


def measure_finished(store: Store, scale: Scale) -> Iterator[Result]:
    """Starts, runs and lists with a long history and without."""
    subject = Subject(store.name, store.commits_per_s(scale.raw_s))
    with open_site(store) as empty, open_site(store) as crowded:
        few, many = _with_history(empty, 0), _with_history(crowded, scale.finished)
        yield from _compare(subject, f"{scale.finished:,} finished", few, many, _FINISHED_RATIO, scale)


def _with_queues(site: Site, queued: int) -> Actions:
    paused = site.push(flows.one_step(NOOP, "paused"))
    busy = site.push(flows.busy("busy"))
    site.push(flows.one_step(NOOP))
    site.calve.pause(paused, AUTHOR)
    site.start(busy)
    for template in (site.start(paused), site.start(busy)):
        _copy_run(site, template, queued)
    return {
        "start of the paused workflow": lambda: site.start(paused),
        "start of the busy workflow": lambda: site.start(busy),
        "start of another workflow": lambda: site.start("one"),
        "one-step run of another workflow": lambda: site.run("one"),
    }


def _with_history(site: Site, finished: int) -> Actions:
    site.push(flows.one_step(NOOP))
    site.push(flows.one_step(NOOP, "other"))
    # So that a page is full without the crowd too.
    site.run_many("one", _PAGE)
    _copy_run(site, site.run("one"), finished)
    page = PageRequest(first=_PAGE)
    return {
        "start": lambda: site.start("one"),
        "one-step run": lambda: site.run("one"),
        "one-step run of another workflow": lambda: site.run("other"),
        f"page of {_PAGE} instances": lambda: _read(site, lambda c: instances_page(c, "one", page)),
        "overview of the workflow": lambda: _read(site, lambda c: workflow_overview(c, "one")),
        "list of workflows": lambda: _read(site, list_workflows),
    }


def _compare(
    subject: Subject, crowd: str, few: Actions, many: Actions, target: Target, scale: Scale
) -> Iterator[Result]:
    for name in few:
        taken: tuple[list[float], list[float]] = ([], [])
        # In turns: what else the machine does falls on both alike.
        for number in range(scale.looks + _WARM_UPS):
            for kept, actions in zip(taken, (few, many), strict=True):
                found = times(actions[name], 1, warm_ups=0)
                kept.extend(found if number >= _WARM_UPS else [])
        before = figure(subject, name, f"none {crowd.split()[1]}: {name}", taken[0])
        after = figure(subject, name, f"{crowd}: {name}", taken[1])
        ratio = after.measured / before.measured
        yield from (before, after, Result(subject.database, f"{name}: {crowd}, to none", ratio, "x", target))


def _read(site: Site, view: Callable[[Connection], object]) -> None:
    with site.database.read() as connection:
        view(connection)


def _copy_run(site: Site, template: Started, count: int) -> None:
    """Add so many instances that look like one, with their steps and events."""
    if not count:
        return
    with site.database.write() as connection:
        latest = connection.execute(
            select(workflows.c.latest_instance_id).where(workflows.c.workflow_id == template.workflow_id)
        ).scalar_one()
        _copy_row(connection, template, latest, count)
        new = runs.alias()
        copies = (new.c.workflow_id == template.workflow_id) & (new.c.instance_id > latest)
        for table, keep in ((steps, ()), (events, ("id",))):
            values = {"run": new.c.id, "instance_id": new.c.instance_id}
            source = table.join(new, copies)
            _insert(
                connection,
                table,
                values,
                keep,
                select().select_from(source).where(table.c.run == template.run),
            )
        connection.execute(
            update(workflows)
            .where(workflows.c.workflow_id == template.workflow_id)
            .values(latest_instance_id=latest + count)
        )
    settle(site.database)


def _copy_row(connection: Connection, template: Started, latest: int, count: int) -> None:
    start = select(literal(1).label("n")).cte(recursive=True)
    numbers = start.union_all(select(start.c.n + 1).where(start.c.n < count))
    values = {"instance_id": latest + numbers.c.n, "uuid": "copy-" + cast(numbers.c.n, Text)}
    source = runs.join(numbers, true())
    _insert(connection, runs, values, ("id",), select().select_from(source).where(runs.c.id == template.run))


def _insert(
    connection: Connection, table: Table, values: dict[str, Any], left_out: tuple[str, ...], rows: Any
) -> None:
    names = [column.name for column in table.columns if column.name not in left_out]
    columns = [values.get(name, table.c[name]) for name in names]
    connection.execute(insert(table).from_select(names, rows.add_columns(*columns)))
