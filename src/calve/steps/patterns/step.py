"""A pattern as a step: rendered from metadata when it starts, then run as a SQL script."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from calve.errors import CalveError
from calve.lake import Lake
from calve.steps.contract import Finished, Options, Running, StepContext
from calve.steps.incremental.shared import ledger_of
from calve.steps.options import read_options, refused
from calve.steps.patterns.checking import check_pattern
from calve.steps.patterns.finding import Found, change_of_step
from calve.steps.patterns.options import PatternOptions
from calve.steps.patterns.rendering.rendered import Rendered
from calve.steps.patterns.rendering.request import Request
from calve.steps.patterns.tables import view
from calve.steps.process.launching import Command
from calve.steps.process.wrapper import read_record
from calve.steps.spark import Spark
from calve.steps.spark_spec import SessionOptions
from calve.workflow.definition.model import Workflow
from calve.workflow.definition.steps import TypedStep
from calve.workflow.params import ParamDefinition

RENDERED_FILE = "rendered.sql"


class Pattern(Spark):
    """A step type that writes a change to a target by SQL of its own making around the user's query."""

    schema: ClassVar[Mapping[str, ParamDefinition]] = {}
    options: ClassVar[type[Options]]

    @abstractmethod
    def render_request(self, options: Any, request: Request) -> Rendered:
        """The SQL for a change and a target: pure."""

    def check(self, step: TypedStep, workflow: Workflow) -> Iterable[str]:
        """What is wrong with the step in its workflow."""
        return check_pattern(step, workflow, self.options_model())

    def options_model(self) -> type[PatternOptions]:
        """The options of the type."""
        model = type(self).options
        assert issubclass(model, PatternOptions)
        return model

    def option_names(self) -> set[str]:
        """The params that are options of the type, its section among them."""
        model = self.options_model()
        return {*model.model_fields, *model.other_names, *filter(None, [model.section])}

    def render(
        self, lake: Lake, options: PatternOptions, found: Found, branch: str | None = None
    ) -> Rendered:
        """The SQL for a change; looks at metadata of the source and the target only."""
        request = view(
            lake,
            found.changes,
            options.target,
            alias=found.alias,
            stated=options.stated_columns,
            branch=branch,
            base=found.backfill_branch,
            is_own=found.is_own,
        )
        return self.render_request(options, request)

    async def start(self, context: StepContext) -> Running | Finished:
        """Render, and run what there is to run: without a change, nothing is started."""
        if read_record(context.place) is not None:
            return await super().start(context)
        try:
            rendered = await asyncio.to_thread(self._prepare, context)
        except CalveError as error:
            return refused(error)
        if not rendered.statements:
            context.log("nothing to do: the change is empty")
            return Finished.done()
        return await super().start(context)

    def _prepare(self, context: StepContext) -> Rendered:
        options = self.read(context)
        rendered = self.render(ledger_of(context.settings).lake, options, change_of_step(context, options))
        (context.folder / RENDERED_FILE).write_text(rendered.script, encoding="utf-8")
        for note in rendered.notes:
            context.log(f"note: {note}")
        return rendered

    def read(self, context: StepContext) -> PatternOptions:
        """The options of a step, checked."""
        return read_options(self.options_model(), context)

    def make_command(self, context: StepContext) -> Command:
        """The rendered script, as a Spark step would run it."""
        return Spark().make_command(self.script_context(context))

    def script_context(self, context: StepContext) -> StepContext:
        """The attempt as one of a plain Spark step with the rendered script."""
        options = self.read(context)
        session = {name: getattr(options, name) for name in SessionOptions.model_fields}
        given = {name: value for name, value in session.items() if value is not None}
        script = (context.place / RENDERED_FILE).read_text(encoding="utf-8")
        return replace(context, params={**given, "script": script}, own_params={})

    def _exited(self, context: StepContext, code: int) -> Finished:
        finished = super()._exited(context, code)
        file = context.place / RENDERED_FILE
        if not file.exists():
            return finished
        return replace(finished, artifacts={**finished.artifacts, "sql": file.read_text(encoding="utf-8")})
