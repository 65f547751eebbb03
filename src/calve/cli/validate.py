"""`calve validate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calve.cli import output
from calve.cli.client import ServerOption, open_client
from calve.cli.definitions import load_file, workflow_files
from calve.errors import CalveError, UsageError
from calve.settings import load_settings
from calve.workflow.definition import DefinitionWarning, InvalidDefinitionError, JobTypes, WorkflowDefinition

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Report:
    """What was found in one file."""

    file: Path
    definition: WorkflowDefinition | None = None
    errors: list[CalveError] = field(default_factory=list)
    warnings: list[DefinitionWarning] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "file": str(self.file),
            "workflow_id": None if self.definition is None else self.definition.workflow.id,
            "valid": not self.errors,
            "errors": [error.to_json() for error in self.errors],
            "warnings": [warning.to_json() for warning in self.warnings],
        }


def validate(
    paths: Annotated[
        list[Path], typer.Argument(help="Workflow files, or folders of them.", metavar="FILE|DIR")
    ],
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Check workflow files without pushing them: everything that is wrong, with file, line and column.

    Job templates are those of the server, or of the home if there is one.

    Example: calve validate workflows/ extra.yaml
    """
    files = workflow_files(paths)
    types = known_types(server)
    reports = [examine(file, types) for file in files]
    valid = all(not report.errors for report in reports)
    result = {"valid": valid, "files": [report.to_json() for report in reports]}
    output.emit(result, json_output, lambda console: _show(console, reports))
    if not valid:
        raise typer.Exit(UsageError.exit_code)


def known_types(server: str | None) -> JobTypes:
    """The types that jobs may have, found without making a home where there is none."""
    if server or load_settings().home.is_dir():
        with open_client(server) as client:
            return client.job_types()
    from calve.steps.registry import RegisteredTypes

    return RegisteredTypes()


def examine(file: Path, types: JobTypes) -> Report:
    """What there is to say about a file."""
    try:
        loaded = load_file(file, types)
    except InvalidDefinitionError as error:
        return Report(file, errors=list(error.problems), warnings=error.warnings)
    except CalveError as error:
        return Report(file, errors=[error])
    return Report(file, loaded.definition, warnings=loaded.warnings)


def _show(console: Console, reports: list[Report]) -> None:
    from rich.text import Text

    for report in reports:
        for error in report.errors:
            console.print(Text.assemble(("error: ", "bold red"), error.message, (f" [{error.code}]", "dim")))
            console.print(Text.assemble(("  remedy: ", "bold"), error.remedy))
        for warning in report.warnings:
            console.print(
                Text.assemble(
                    ("warning: ", "bold yellow"),
                    f"{warning.at}: {warning.message}",
                    (f" [{warning.code}]", "dim"),
                )
            )
        if report.definition is not None:
            steps = len(list(report.definition.workflow.all_steps()))
            name = report.definition.workflow.id
            console.print(Text.assemble(("valid: ", "bold green"), f"{report.file}: {name}, {steps} jobs"))
    errors = sum(len(report.errors) for report in reports)
    if errors:
        console.print(
            f"{errors} errors in {sum(bool(report.errors) for report in reports)} of {len(reports)} files"
        )
