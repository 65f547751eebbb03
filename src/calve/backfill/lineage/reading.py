"""The tables of one workflow, from its definition alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from pydantic import ValidationError

from calve.backfill.lineage.known_params import KnownParams, Surroundings
from calve.backfill.lineage.model import (
    Call,
    CapturedSource,
    CaptureUse,
    Cause,
    Direction,
    How,
    WorkflowTables,
)
from calve.backfill.lineage.names import Nameless, TableNames
from calve.backfill.lineage.notes import Notes
from calve.backfill.lineage.options import known_options, known_params, type_of
from calve.backfill.lineage.sql import Schemas
from calve.backfill.lineage.stand_ins import StandIns
from calve.backfill.lineage.step_tables import StepReader
from calve.lake.catalogs import Lake
from calve.ledger.asks import default_alias
from calve.steps.incremental.naming import consumer_of
from calve.steps.incremental.options import IpCaptureOptions
from calve.workflow.definition.captures import CAPTURE_TYPES
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.params import LOOP_PARAMS, SUBWORKFLOW_ID
from calve.workflow.definition.steps import ForeachStep, Step, SubworkflowStep, TypedStep, WhileStep
from calve.workflow.params import ParamDefinition

#: The params that a step has from its job template.
Templates = Callable[[TypedStep], Mapping[str, ParamDefinition]]
#: A loop over more combinations than these is read once, with its params unknown.
ITERATIONS_LIMIT = 32


def read_tables(
    workflow: Workflow,
    lake: Lake,
    *,
    version: int = 0,
    schemas: Schemas | None = None,
    templates: Templates = lambda step: {},
) -> WorkflowTables:
    """The tables of a workflow. No catalog is asked: names are brought to their full form by the settings.

    `schemas` gives the columns of a table by its full name, where column edges need them.
    """
    reader = _WorkflowReader(workflow, lake, schemas, templates)
    reader.walk(workflow.steps, _Place(reader.surroundings()))
    return reader.notes.result(workflow.id, version)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where steps stand: what they see, and the loops around them."""

    around: Surroundings
    loops: tuple[str, ...] = ()


class _WorkflowReader:
    def __init__(self, workflow: Workflow, lake: Lake, schemas: Schemas | None, templates: Templates) -> None:
        self.notes = Notes()
        self._workflow = workflow
        self._lake = lake
        self._schemas = schemas
        self._templates = templates
        self._stand_ins = StandIns()
        self._icdc_names: dict[str, str] = {}

    def surroundings(self) -> Surroundings:
        """What steps outside of loops see of the workflow."""
        values = KnownParams(self._workflow.params, self._stand_ins).values()
        return Surroundings(values, {}, {step.id for step in self._workflow.all_steps()})

    def walk(self, steps: tuple[Step, ...], place: _Place) -> None:
        """Read the steps of a level, captures first: the others read what these show."""
        captures = [step for step in steps if _is_capture(step)]
        for step in captures:
            place = self._read_capture(step, place)
        for step in steps:
            match step:
                case ForeachStep() | WhileStep():
                    for inner in self._iterations(step, place):
                        self.walk(step.steps, inner)
                case SubworkflowStep():
                    self._read_call(step, place)
                case TypedStep() if step not in captures:
                    self._read_job(step, place)

    def _options(self, step: TypedStep, place: _Place) -> dict[str, Any]:
        values = known_params(step, self._stand_ins, place.around, self._templates(step))
        return known_options(step, type_of(step), values, self._lake.settings)

    def _names(self) -> TableNames:
        return TableNames(self._lake, self._stand_ins, self._icdc_names)

    def _read_job(self, step: TypedStep, place: _Place) -> None:
        StepReader(
            step,
            type_of(step),
            self._options(step, place),
            self._names(),
            self.notes,
            place.around.captures,
            self._schemas,
        ).read()

    # Captures

    def _read_capture(self, step: Step, place: _Place) -> _Place:
        assert isinstance(step, TypedStep)
        options = self._options(step, place)
        given = {name: value for name, value in options.items() if not self._is_unknown(name, value)}
        try:
            found = IpCaptureOptions.model_validate(given)
        except ValidationError as error:
            params = self._stand_ins.params_in(options.get("source_tables", options.get("sourceTable")))
            cause = Cause.PARAM if params else Cause.SCRIPT
            why = f"source_tables need {', '.join(params)}" if params else error.errors()[0]["msg"]
            self.notes.unknown(step.id, {Direction.READS}, cause, why)
            return place
        sources = tuple(self._sources(step, found))
        self._note_capture(step, found, sources, options, place)
        words = {source.alias: self._stand_ins.change(source.table) for source in sources}
        return replace(
            place, around=replace(place.around, captures={**place.around.captures, step.id: words})
        )

    def _is_unknown(self, name: str, value: Any) -> bool:
        """An option that only a run knows is left out; a table of several that only a run knows is not."""
        if name in ("source_tables", "sourceTable"):
            return isinstance(value, str) and bool(self._stand_ins.params_in(value))
        return bool(self._stand_ins.params_in(value))

    def _sources(self, step: TypedStep, found: IpCaptureOptions) -> Iterator[CapturedSource]:
        for source in found.source_tables:
            named = self._names().find(source.table)
            if isinstance(named, Nameless):
                self.notes.unknown(step.id, {Direction.READS}, named.cause, named.why)
                continue
            columns = source.range_columns or found.range_columns
            alias = source.alias or default_alias(source.table)
            yield CapturedSource(named.table, alias, source.branch, tuple(columns))

    def _note_capture(
        self,
        step: TypedStep,
        found: IpCaptureOptions,
        sources: tuple[CapturedSource, ...],
        options: Mapping[str, Any],
        place: _Place,
    ) -> None:
        consumer = found.consumer or consumer_of(self._workflow.id, step.id)
        is_known = not self._stand_ins.params_in(options.get("consumer"))
        operations = tuple(operation.value for operation in found.data_operations)
        self.notes.capture(
            CaptureUse(
                step.id,
                consumer if is_known else None,
                sources,
                operations,
                found.capture_mode.value,
                place.loops,
            )
        )
        for source in sources:
            self.notes.read(step.id, source.table, {How.CAPTURE})
        shown = None if found.icdc_name is None else self._names().find(found.icdc_name)
        if shown is not None and not isinstance(shown, Nameless) and len(sources) == 1:
            self._icdc_names[shown.table] = sources[0].table

    # Loops and other workflows

    def _iterations(self, step: ForeachStep | WhileStep, place: _Place) -> Iterator[_Place]:
        """What the steps of a loop see: each combination of its params, if they are few and known."""
        params = known_params(step, self._stand_ins, place.around, {})
        loop: Any = params.get(LOOP_PARAMS)
        values: Mapping[str, Any] = loop if isinstance(loop, Mapping) else {}
        loops = (*place.loops, step.id)
        arrays = [value for value in values.values() if isinstance(value, list | tuple)]
        few = len(arrays) == len(values) and prod(map(len, arrays)) <= ITERATIONS_LIMIT
        if isinstance(step, ForeachStep) and few and values:
            combinations = [dict(zip(values, chosen, strict=True)) for chosen in product(*arrays)]
        else:
            combinations = [{name: self._stand_ins.param(name) for name in step.loop_params}]
        for combination in combinations:
            around = replace(place.around, values={**place.around.values, **combination})
            yield _Place(around, loops)

    def _read_call(self, step: SubworkflowStep, place: _Place) -> None:
        called = str(known_params(step, self._stand_ins, place.around, {}).get(SUBWORKFLOW_ID, ""))
        if self._stand_ins.params_in(called):
            told = self._stand_ins.tell(called)
            why = f"which workflow it starts is known only when the workflow runs: {told}"
            self.notes.unknown(step.id, set(Direction), Cause.PARAM, why)
        elif called:
            self.notes.call(Call(step.id, called))


def _is_capture(step: Step) -> bool:
    return isinstance(step, TypedStep) and step.type.lower() in CAPTURE_TYPES
