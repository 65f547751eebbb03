"""WriteAuditPublish: a pattern, or one's own SQL, on a branch of the target, audited and then published."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from calve.lake import Lake
from calve.ledger.writes import forget_landed
from calve.spark.once.landing import MAIN
from calve.spark.statements import split_statements
from calve.spark.step.publishing import AUDIT_FAILED, PUBLISH_CONFLICT, Audit, PublishPlan
from calve.spark.step.spec import SPEC_FILE, StepSpec
from calve.steps.contract import Finished, Options, StepContext
from calve.steps.incremental.checking import literal
from calve.steps.incremental.scope import captures_of_step
from calve.steps.incremental.shared import ledger_of
from calve.steps.options import read_options
from calve.steps.patterns.aggregate import IncrementalAggregate
from calve.steps.patterns.append import IncrementalAppend
from calve.steps.patterns.checking import check_pattern
from calve.steps.patterns.finding import Found, change_of_step
from calve.steps.patterns.merge import IncrementalMerge
from calve.steps.patterns.options import (
    AggregateOptions,
    AppendOptions,
    MergeOptions,
    Name,
    PatternOptions,
    QueryText,
    RangeOptions,
)
from calve.steps.patterns.range import IncrementalRange
from calve.steps.patterns.rendering.branching import on_branch
from calve.steps.patterns.rendering.rendered import Rendered, Sql
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.step import Pattern
from calve.steps.process.launching import Command
from calve.steps.process.outputs import JobOutput
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep

PatternName = Literal["IncrementalAppend", "IncrementalMerge", "IncrementalAggregate", "IncrementalRange"]


class PublishOptions(PatternOptions):
    """WriteAuditPublish: the options of the pattern inside stand beside these."""

    section: ClassVar[str | None] = "write_audit_publish"

    #: The pattern inside; its options stand beside. Without it, `script` has SQL that writes the target.
    pattern: PatternName | None = None
    #: Queries by name over the target as it would be; each has to give no row, or true.
    audits: Annotated[dict[Name, QueryText], Field(min_length=1)]


class _Append(PublishOptions, AppendOptions):
    section: ClassVar[str | None] = PublishOptions.section


class _Merge(PublishOptions, MergeOptions):
    section: ClassVar[str | None] = PublishOptions.section


class _Aggregate(PublishOptions, AggregateOptions):
    section: ClassVar[str | None] = PublishOptions.section


class _Range(PublishOptions, RangeOptions):
    section: ClassVar[str | None] = PublishOptions.section


class _Script(PublishOptions):
    script: str = Field(min_length=1)


_INSIDE: Mapping[str | None, tuple[type[PublishOptions], type[Pattern] | None]] = {
    None: (_Script, None),
    "IncrementalAppend": (_Append, IncrementalAppend),
    "IncrementalMerge": (_Merge, IncrementalMerge),
    "IncrementalAggregate": (_Aggregate, IncrementalAggregate),
    "IncrementalRange": (_Range, IncrementalRange),
}


class WriteAuditPublish(Pattern):
    """Readers of the target see all of a change that passed its audits, or nothing of it."""

    name: ClassVar[str] = "WriteAuditPublish"
    options: ClassVar[type[Options]] = PublishOptions

    def check(self, step: TypedStep, workflow: Workflow) -> Iterable[str]:
        """What is wrong with the step in its workflow."""
        stated = literal(step, PublishOptions.section, "pattern")
        return check_pattern(step, workflow, _INSIDE.get(stated, (PublishOptions, None))[0])

    def option_names(self) -> set[str]:
        """Those of all patterns that may stand inside."""
        names = super().option_names()
        return names.union(*(model.model_fields for model, _ in _INSIDE.values()))

    def read(self, context: StepContext) -> PatternOptions:
        """The options, with those of the pattern inside."""
        outer = read_options(PublishOptions, context)
        return read_options(_INSIDE[outer.pattern][0], context)

    def render(
        self, lake: Lake, options: PatternOptions, found: Found, branch: str | None = None
    ) -> Rendered:
        """The SQL of the pattern inside, or one's own, on the branch."""
        assert isinstance(options, PublishOptions)
        target = str(lake.resolve(options.target))
        named = branch or branch_of(found)
        inside = _INSIDE[options.pattern][1]
        if inside is not None:
            rendered = inside().render(lake, options, found, named)
        else:
            rendered = _own_sql(options, target, named) if found.changes.has_changes else Rendered()
        if not rendered.statements:
            return rendered
        audits = [f"audit {x.name} on the branch: {x.sql}" for x in _audits(options, target, named)]
        return replace(rendered, notes=(*rendered.notes, *audits))

    def render_request(self, options: Any, request: Request) -> Rendered:
        """The SQL of the pattern inside."""
        inside = _INSIDE[options.pattern][1]
        return Rendered() if inside is None else inside().render_request(options, request)

    def make_command(self, context: StepContext) -> Command:
        """The script on a branch, with what is to be done with the branch."""
        command = super().make_command(context)
        options = self.read(context)
        assert isinstance(options, PublishOptions)
        target = str(ledger_of(context.settings).lake.resolve(options.target))
        found = change_of_step(context, options)
        branch = branch_of(found)
        audits = tuple(_audits(options, target, branch))
        plan = PublishPlan(target, branch, audits, found.backfill_branch or MAIN)
        spec = StepSpec.read(context.place / SPEC_FILE)
        replace(spec, publish=plan.to_json()).write()
        return command

    def _failed(self, context: StepContext, code: int, output: JobOutput) -> Finished:
        finished = super()._failed(context, code, output)
        if finished.error is not None and finished.error.code in (AUDIT_FAILED, PUBLISH_CONFLICT):
            _forget(context)
        return finished


def branch_of(found: Found) -> str:
    """The branch of a step under its captures: the same in every attempt and in a restarted run."""
    return f"calve_{hashlib.sha256(found.path.encode()).hexdigest()[:16]}"


def _audits(options: PublishOptions, target: str, branch: str) -> list[Audit]:
    written = f"{target}.`branch_{branch}`"
    names = (target, options.target)
    return [
        Audit(name, on_branch(sql, names, written, f"the audit {name}"))
        for name, sql in options.audits.items()
    ]


def _own_sql(options: PublishOptions, target: str, branch: str) -> Rendered:
    assert isinstance(options, _Script)
    written = f"{target}.`branch_{branch}`"
    statements = [
        Sql(
            on_branch(x.text, (target, options.target), written, f"statement {number}"), f"statement {number}"
        )
        for number, x in enumerate(split_statements(options.script), 1)
    ]
    return Rendered(tuple(statements))


def _forget(context: StepContext) -> None:
    """What was written is gone with the branch: none of it may count as landed."""
    ledger = ledger_of(context.settings)
    with ledger.database.write() as connection:
        found = captures_of_step(connection, context)
        for held in () if found is None else found.held:
            forget_landed(connection, held.record.id, f"{held.path}/")
