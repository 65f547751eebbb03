"""The lineage of all workflows that are pushed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, func, select

from calve.backfill.lineage.graph import Lineage
from calve.backfill.lineage.model import Cause, Direction, Unknown, WorkflowTables
from calve.backfill.lineage.reading import Templates, read_tables
from calve.backfill.lineage.sql import Schemas
from calve.engine.catalog.templates import find_template
from calve.errors import CalveError
from calve.lake.catalogs import Lake
from calve.settings import Settings
from calve.state.batches import in_batches
from calve.state.orchestration import job_templates, workflow_versions, workflows
from calve.steps.templates import resolve
from calve.workflow.definition import WorkflowDefinition
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import ParamDefinition

#: What backfills push for themselves begins with it, and is no part of the lineage.
BACKFILL_PREFIX = "backfill-"

#: A version never changes, but a workflow may be deleted and pushed anew: then it was made at another time.
_Key = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read, and of what."""

    stamp: str | None = None
    read: Mapping[_Key, WorkflowTables] = field(default_factory=dict)
    lineage: Lineage = field(default_factory=lambda: Lineage(()))


#: The state, the names of its catalogs, and the job templates as they are: what else a reading depends on.
_World = tuple[Any, ...]

_VERSION = func.coalesce(workflows.c.active_version, workflows.c.latest_version)
_KEYS = (
    select(workflows.c.workflow_id, _VERSION.label("version"), workflows.c.created_at)
    .where(~workflows.c.workflow_id.startswith(BACKFILL_PREFIX, autoescape=True))
    .order_by(workflows.c.workflow_id)
)
_KEY = select(workflows.c.workflow_id, _VERSION, workflows.c.created_at).where(
    workflows.c.workflow_id == bindparam("workflow_id")
)
_ALL = _KEYS.subquery()
#: All keys as one text: there may be very many, and pages ask again and again whether they are the same.
_STAMP = select(
    func.aggregate_strings(
        _ALL.c.workflow_id + " " + cast(_ALL.c.version, Text) + " " + cast(_ALL.c.created_at, Text), " "
    )
)
#: The same for PostgreSQL, which takes long to sort and send such a text, but has a hash that takes a seed.
_UNSORTED = _KEYS.order_by(None).subquery()
_SEED = cast(_UNSORTED.c.version, BigInteger) * 4_294_967_311 + _UNSORTED.c.created_at
_HASHED_STAMP = select(
    cast(func.count(), Text)
    + " "
    + cast(func.sum(func.hashtextextended(_UNSORTED.c.workflow_id, _SEED)), Text)
)
_DEFINITIONS = (
    select(workflow_versions.c.workflow_id, workflow_versions.c.version, workflow_versions.c.definition)
    .join(workflows, workflows.c.workflow_id == workflow_versions.c.workflow_id)
    .where(workflow_versions.c.version == _VERSION)
)
_TEMPLATES = select(func.count(), func.max(job_templates.c.created_at))

_lock = threading.Lock()
_cache: dict[_World, _Known] = {}


def load_lineage(connection: Connection, settings: Settings) -> Lineage:
    """The lineage of the active, else the latest, version of each workflow.

    What was read once is kept for as long as it is current, so that only new versions cost anything.
    """
    return try_lineage(connection, settings, None)[0]


def try_lineage(connection: Connection, settings: Settings, at_most: int | None) -> tuple[Lineage, int]:
    """The lineage, and 0; if more than `at_most` workflows are to be read for it, none, and how many are.

    To read a workflow takes some milliseconds.
    """
    world = _world(connection, settings)
    is_hashed = connection.dialect.name == "postgresql"
    stamp = connection.execute(_HASHED_STAMP if is_hashed else _STAMP).scalar()
    with _lock:
        known = _cache.get(world, _Known())
    if known.stamp == stamp:
        return known.lineage, 0
    keys: list[_Key] = [(row[0], row[1], row[2]) for row in connection.execute(_KEYS).all()]
    missing = {key[0]: key for key in keys if key not in known.read}
    if at_most is not None and len(missing) > at_most:
        return Lineage(()), len(missing)
    read = {missing[found.workflow_id]: found for found in _read(connection, settings, list(missing), None)}
    current = {key: found for key in keys if (found := read.get(key) or known.read.get(key)) is not None}
    lineage = Lineage(current.values())
    with _lock:
        _forget_others(world)
        _cache[world] = _Known(stamp, current, lineage)
    return lineage, 0


def read_workflow(connection: Connection, settings: Settings, workflow_id: str) -> WorkflowTables | None:
    """The tables of one workflow, whatever is known of others; None if there is no such workflow."""
    with _lock:
        known = _cache.get(_world(connection, settings), _Known())
    key = connection.execute(_KEY, {"workflow_id": workflow_id}).first()
    found = None if key is None else known.read.get((key[0], key[1], key[2]))
    return found or next(_read(connection, settings, [workflow_id], None), None)


def read_with_columns(
    connection: Connection, settings: Settings, workflow_ids: Iterable[str], schemas: Schemas
) -> list[WorkflowTables]:
    """The tables of some workflows, with the column edges that the columns of their tables let see."""
    return list(_read(connection, settings, list(workflow_ids), schemas))


def forget_lineage() -> None:
    """Read every workflow again when it is next asked for."""
    with _lock:
        _cache.clear()


def _world(connection: Connection, settings: Settings) -> _World:
    templates = tuple(connection.execute(_TEMPLATES).one())
    return connection.engine.url, tuple(sorted(settings.catalogs)), settings.default_catalog, templates


def _forget_others(world: _World) -> None:
    for other in [other for other in _cache if other[0] == world[0] and other != world]:
        del _cache[other]


def _read(
    connection: Connection, settings: Settings, workflow_ids: list[str], schemas: Schemas | None
) -> Iterator[WorkflowTables]:
    lake = Lake(settings)
    templates = _templates(connection)
    for some in in_batches(workflow_ids):
        for row in connection.execute(_DEFINITIONS.where(workflows.c.workflow_id.in_(some))).all():
            try:
                workflow = WorkflowDefinition.model_validate_json(row.definition).workflow
            except ValidationError as error:
                yield _unreadable(row.workflow_id, row.version, error)
                continue
            yield read_tables(workflow, lake, version=row.version, schemas=schemas, templates=templates)


def _unreadable(workflow_id: str, version: int, error: ValidationError) -> WorkflowTables:
    """A version that this Calve does not understand does not hide all the others."""
    why = f"the definition is not understood: {error.errors(include_url=False)[0]['msg']}"
    return WorkflowTables(
        workflow_id, version, unknown=(Unknown("", frozenset(Direction), Cause.SCRIPT, why),)
    )


def _templates(connection: Connection) -> Templates:
    def params(step: TypedStep) -> Mapping[str, ParamDefinition]:
        if step.sub_type is None:
            return {}
        template = find_template(connection, step.sub_type, step.sub_type_version)
        if template is None:
            return {}
        try:
            return resolve(template, lambda name, version: find_template(connection, name, version)).params
        except CalveError:
            # A template that no longer resolves refuses its steps when they start.
            return {}

    return params
