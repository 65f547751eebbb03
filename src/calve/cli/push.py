"""`calve push`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calve.cli import output
from calve.cli.client import Client, Json, ServerOption, open_client
from calve.cli.definitions import load_file, workflow_files
from calve.errors import CalveError, UsageError
from calve.workflow.definition import DefinitionWarning, InvalidDefinitionError, Loaded

if TYPE_CHECKING:
    from rich.console import Console


class InvalidFilesError(UsageError):
    """Files that were refused, each with all that is wrong with it. Nothing was pushed."""

    def __init__(self, faults: dict[Path, CalveError]) -> None:
        self.faults = faults
        first = next(iter(faults.values()))
        more = f" (and {len(faults) - 1} more files)" if len(faults) > 1 else ""
        super().__init__(first.code, first.message + more, first.remedy)

    @property
    def problems(self) -> list[CalveError]:
        """All problems of all files."""
        return [problem for _, problem in self._by_file()]

    def to_json(self) -> Json:
        """The error with all problems of all files under `errors`."""
        problems = [{"file": str(file), **problem.to_json()} for file, problem in self._by_file()]
        return {**super().to_json(), "errors": problems}

    def _by_file(self) -> Iterator[tuple[Path, CalveError]]:
        for file, fault in self.faults.items():
            for problem in fault.problems if isinstance(fault, InvalidDefinitionError) else [fault]:
                yield file, problem


def push(
    paths: Annotated[
        list[Path], typer.Argument(help="Workflow files, or folders of them.", metavar="FILE|DIR")
    ],
    server: ServerOption = None,
    json_output: output.JsonOption = False,
) -> None:
    """Push workflows: each becomes the next version of its workflow, and the active one.

    All files are checked before any is pushed: if one is refused, none is.

    Example: calve push workflows/ extra.yaml
    """
    files = workflow_files(paths)
    with open_client(server) as client:
        loaded = _load_all(client, files)
        pushed = client.push([item.definition for item in loaded.values()])
    is_one = len(paths) == 1 and paths[0].is_file()
    value = pushed[0] if is_one else {"pushed": pushed}
    warnings = [warning for item in loaded.values() for warning in item.warnings]
    if warnings:
        value = {**value, "warnings": [warning.to_json() for warning in warnings]}
    output.emit(value, json_output, lambda console: _show(console, pushed, warnings))


def _load_all(client: Client, files: list[Path]) -> dict[Path, Loaded]:
    types = client.job_types()
    loaded: dict[Path, Loaded] = {}
    faults: dict[Path, CalveError] = {}
    for file in files:
        try:
            loaded[file] = load_file(file, types)
        except UsageError as error:
            faults[file] = error
    _refuse_twins(loaded, faults)
    if len(faults) == 1 and len(files) == 1:
        raise next(iter(faults.values()))
    if faults:
        raise InvalidFilesError(faults)
    return loaded


def _refuse_twins(loaded: dict[Path, Loaded], faults: dict[Path, CalveError]) -> None:
    seen: dict[str, Path] = {}
    for file, item in loaded.items():
        workflow_id = item.definition.workflow.id
        if workflow_id in seen:
            faults[file] = UsageError(
                "WORKFLOW_DUPLICATE",
                f"{file} and {seen[workflow_id]} both define the workflow '{workflow_id}'",
                "push one of them",
            )
        seen.setdefault(workflow_id, file)


def _show(console: Console, pushed: list[Json], warnings: list[DefinitionWarning]) -> None:
    for warning in warnings:
        console.print(f"warning: {warning.at}: {warning.message} [{warning.code}]", markup=False)
    for one in pushed:
        console.print(f"pushed {one['workflow_id']}, version {one['version']}", markup=False)
