"""The plan of a backfill, from the lineage and the metadata of the tables alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calve.backfill.chunking import HOUR
from calve.backfill.lineage.graph import Lineage
from calve.backfill.plan import ChunkPlan, Feeding, Plan, StagePlan, Validation
from calve.backfill.planning.choosing import Chosen, choose
from calve.backfill.planning.chunk_params import range_params
from calve.backfill.planning.columns import CALENDAR, CLOCK, WantedRange, require_column, want
from calve.backfill.planning.feeding import (
    captured_tables,
    feeding_of,
    plan_chunks,
    plan_sources,
    unmeasured,
)
from calve.backfill.planning.speed import rows_per_second
from calve.backfill.planning.targets import plan_targets
from calve.backfill.request import ALL, BackfillRequest
from calve.engine.catalog.versions import load_definition
from calve.errors import UsageError
from calve.ledger.ledger import Ledger
from calve.workflow.definition import WorkflowDefinition


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes plans. Reads the state, catalogs, metadata files; writes nothing."""

    ledger: Ledger
    lineage: Lineage

    def plan(self, request: BackfillRequest) -> Plan:
        """The plan for a request. Raises what is wrong with it."""
        chosen = choose(self.lineage, request.workflow_id, request.downstream)
        first, wanted = self._first(chosen[0], request)
        stages, left_out = self._downstream(chosen[1:], request, wanted, first)
        served = _with_served([first, *stages], {found.workflow_id: found for found in chosen})
        return Plan(
            workflow_id=request.workflow_id,
            column=wanted.column.name if first.feeding is not Feeding.PARAMS else None,
            kind=wanted.kind,
            chunk=request.chunk,
            lower=wanted.lower,
            upper=wanted.upper,
            order=request.order,
            on_branch=request.on_branch,
            params=self._params(first, request),
            stages=tuple(served),
            validation=self._validation(request, served),
            warnings=tuple(left_out),
        )

    def definition(self, workflow_id: str, version: int) -> WorkflowDefinition:
        """A version of a workflow."""
        with self.ledger.database.read() as connection:
            return load_definition(connection, workflow_id, version)

    def _first(self, chosen: Chosen, request: BackfillRequest) -> tuple[StagePlan, WantedRange]:
        captured = captured_tables(self.ledger.lake, chosen)
        if not captured:
            column = CLOCK if request.chunk == HOUR else CALENDAR
            wanted = want(column, request.lower, request.upper)
            chunks = unmeasured(wanted, request.chunk)
            return self._stage(chosen, Feeding.PARAMS, (), wanted, chunks, request), wanted
        wanted = want(require_column(captured[0][0], request.column), request.lower, request.upper)
        required = frozenset({str(captured[0][0].name)})
        sources = plan_sources(captured, wanted.column.name, required=required)
        chunks = plan_chunks(captured, sources, wanted, request.chunk)
        stage = self._stage(chosen, Feeding.RANGE, (), wanted, chunks, request)
        return replace(stage, sources=sources), wanted

    def _stage(
        self,
        chosen: Chosen,
        feeding: Feeding,
        after: tuple[int, ...],
        wanted: WantedRange,
        chunks: tuple[ChunkPlan, ...],
        request: BackfillRequest,
    ) -> StagePlan:
        # What params say of a range, no column does; and a difference says itself which rows went.
        column = wanted.column if feeding is Feeding.RANGE else None
        targets = plan_targets(
            self.ledger.lake,
            self.lineage,
            chosen,
            column,
            on_branch=request.on_branch,
            clear=request.clear,
        )
        return StagePlan(
            workflow_id=chosen.workflow_id,
            version=chosen.version,
            feeding=feeding,
            after=after,
            sources=(),
            targets=targets,
            chunks=chunks,
            rows_per_second=rows_per_second(self.ledger, chosen.workflow_id),
        )

    def _downstream(
        self, rest: list[Chosen], request: BackfillRequest, wanted: WantedRange, first: StagePlan
    ) -> tuple[list[StagePlan], list[str]]:
        stages: list[StagePlan] = []
        left_out: list[str] = []
        for chosen in rest:
            planned = [first, *stages]
            changed = {target.table: at for at, stage in enumerate(planned) for target in stage.targets}
            read = chosen.reads & changed.keys()
            if not read:
                left_out.append(f"'{chosen.workflow_id}' is left out: it reads only from what is left out")
                continue
            after = tuple(sorted({changed[table] for table in read}))
            try:
                stages.append(self._one_downstream(chosen, frozenset(read), after, request, wanted))
            except UsageError as error:
                if request.downstream != (ALL,):
                    raise
                left_out.append(f"'{chosen.workflow_id}' is left out: {error.message} ({error.remedy})")
        return stages, left_out

    def _one_downstream(
        self,
        chosen: Chosen,
        changed: frozenset[str],
        after: tuple[int, ...],
        request: BackfillRequest,
        wanted: WantedRange,
    ) -> StagePlan:
        feeding = feeding_of(chosen, changed)
        if feeding is Feeding.PARAMS:
            range_params(self.definition(chosen.workflow_id, chosen.version), {})
            return self._stage(chosen, feeding, after, wanted, unmeasured(wanted, request.chunk), request)
        captured = captured_tables(self.ledger.lake, chosen)
        caught = {str(table.name) for table, _ in captured} & changed
        if not caught:
            raise UsageError(
                "CHANGES_NOT_CAPTURED",
                f"it reads {', '.join(sorted(changed))} without capturing it",
                "add the table to the sources of its capture step",
            )
        required = frozenset(caught) if feeding is Feeding.RANGE else frozenset[str]()
        sources = plan_sources(captured, wanted.column.name, required=required)
        measured = feeding is Feeding.RANGE
        chunks = plan_chunks(captured, sources, wanted, request.chunk) if measured else ()
        stage = self._stage(chosen, feeding, after, wanted, chunks, request)
        return replace(stage, sources=sources)

    def _validation(self, request: BackfillRequest, stages: list[StagePlan]) -> Validation:
        """What is asked for, with the full names of tables. Raises KEYS_UNKNOWN."""
        targets = {target.table for stage in stages for target in stage.targets}
        keys = {str(self.ledger.lake.resolve(name)): found for name, found in request.validation.keys.items()}
        if unknown := sorted(keys.keys() - targets):
            raise UsageError(
                "KEYS_UNKNOWN",
                f"keys are given for {', '.join(unknown)}, which the backfill does not write",
                f"give keys of {', '.join(sorted(targets))}",
            )
        return replace(request.validation, keys=keys)

    def _params(self, first: StagePlan, request: BackfillRequest) -> dict[str, str]:
        if first.feeding is not Feeding.PARAMS:
            return dict(request.params)
        return range_params(self.definition(first.workflow_id, first.version), request.params)


def _with_served(stages: list[StagePlan], chosen: dict[str, Chosen]) -> list[StagePlan]:
    """Each stage with the consumers of its targets that later stages serve."""
    served = []
    for at, stage in enumerate(stages):
        targets = {target.table for target in stage.targets}
        pairs = {
            (capture.consumer, source.table)
            for later in stages[at + 1 :]
            for capture in chosen[later.workflow_id].captures
            for source in capture.sources
            if source.table in targets and capture.consumer is not None
        }
        served.append(replace(stage, served=tuple(sorted(pairs))))
    return served
