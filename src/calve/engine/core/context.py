"""What all parts of the scheduler share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection

from calve.engine.catalog.templates import find_template
from calve.engine.core.executor import Executor
from calve.engine.core.run_state import RunState
from calve.engine.core.step_params import TypeParams
from calve.engine.core.step_state import AttemptKey, StepState
from calve.engine.core.timers import Timers
from calve.engine.core.waiters import Waiters
from calve.engine.places import attempt_place
from calve.errors import NotFoundError, UsageError
from calve.settings import Settings
from calve.steps import registry
from calve.steps.contract import StepContext, StepType
from calve.steps.templates import resolve
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import ParamDefinition, ParamSource

#: How many runs an engine takes before it leaves new ones to others.
CAPACITY = 1_000
CAPACITY_BESIDE_OTHERS = 64

_NO_PARAMS = TypeParams({}, {})
_NOT_OWN = frozenset({ParamSource.SYSTEM_DEFAULT, ParamSource.SYSTEM, ParamSource.SYSTEM_INJECTED})


@dataclass
class Core:
    """The memory of one engine: a cache of the rows that it owns, and what waits for what."""

    settings: Settings
    timers: Timers
    executor: Executor
    #: Has the tables looked at that triggers wait for, and tells that a run has ended.
    look_at_tables: Callable[[], None] = lambda: None
    note_run_end: Callable[[], None] = lambda: None
    runs: dict[int, RunState] = field(default_factory=dict)
    waiting_permits: Waiters = field(default_factory=Waiters)
    #: Steps that wait for a signal of a name.
    waiting_signals: dict[str, set[AttemptKey]] = field(default_factory=dict)
    #: For a loop: what its iterations came to in earlier runs, by number.
    earlier_children: dict[AttemptKey, Mapping[int, tuple[int, str]]] = field(default_factory=dict)
    #: True if other engines share the work.
    has_company: bool = False
    #: When the time triggers are next looked at, by `time.monotonic`; a look before is for nothing.
    triggers_at: float = 0.0
    #: When the permits are, likewise.
    permits_at: float = 0.0

    def may_take_more(self) -> bool:
        """True if a new run should run here rather than elsewhere."""
        return len(self.runs) < (CAPACITY_BESIDE_OTHERS if self.has_company else CAPACITY)

    def step(self, key: AttemptKey) -> tuple[RunState, StepState] | None:
        """An attempt that this engine owns and that is the newest of its step."""
        run = self.runs.get(key.run)
        found = None if run is None else run.steps.get(key.step_id)
        if run is None or found is None or found.attempt_id != key.attempt_id:
            return None
        return run, found

    def drop(self, run: int) -> None:
        """Forget a run that is over."""
        self.runs.pop(run, None)

    def forget(self) -> None:
        """Drop all that is in memory: the database has the truth."""
        self.runs.clear()
        self.waiting_permits.clear()
        self.waiting_signals.clear()
        self.earlier_children.clear()
        self.triggers_at = self.permits_at = 0.0


def type_of(step: StepState) -> StepType:
    """The type that does the work of a step; UsageError if it is not installed here."""
    definition = step.definition
    assert isinstance(definition, TypedStep)
    found = registry.find(definition.type)
    if found is None:
        raise UsageError(
            "STEP_TYPE_UNKNOWN",
            f"there is no step type {definition.type!r} on this engine",
            f"install the package that has it; there are {', '.join(registry.names())}",
        )
    return found


def type_params(connection: Connection, run: RunState, step: StepState) -> TypeParams:
    """The params that come with the type of a step and with its job template."""
    definition = step.definition
    if not isinstance(definition, TypedStep):
        return _NO_PARAMS
    schema = _asked_for(type_of(step), definition)
    if definition.sub_type is None:
        return TypeParams(schema, {})
    stated = definition.sub_type_version or run.values.get("job_template_version")
    template = find_template(connection, definition.sub_type, stated)
    if template is None:
        raise NotFoundError(
            "TEMPLATE_NOT_FOUND",
            f"there is no job template {definition.sub_type!r} in version {stated or 'default'}",
            "push it, or name another one",
        )
    resolved = resolve(template, lambda name, version: find_template(connection, name, version))
    return TypeParams(schema, resolved.params)


def _asked_for(type_: StepType, definition: TypedStep) -> Mapping[str, ParamDefinition]:
    """The schema of a type, without what the step says in the section of the type."""
    section = definition.params.get(type_.options.section or "")
    said = section.value if section is not None and isinstance(section.value, Mapping) else {}
    return {name: param for name, param in type_.schema.items() if name not in said}


def context_of(core: Core, run: RunState, step: StepState) -> StepContext:
    """An attempt as its type sees it."""
    own = {
        name: param.value for name, param in step.params.items() if param.definition.source not in _NOT_OWN
    }
    return StepContext(
        workflow_id=run.workflow_id,
        instance_id=run.instance_id,
        run_id=run.run_id,
        step_id=step.id,
        attempt_id=step.attempt_id,
        attempt_uuid=step.uuid,
        run=run.id,
        params=step.values,
        workflow_params=run.values,
        own_params=own,
        settings=core.settings,
        place=attempt_place(
            core.settings, run.workflow_id, run.instance_id, run.run_id, step.id, step.attempt_id
        ),
    )
