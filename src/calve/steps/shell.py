"""Shell: a script, run by `/bin/sh`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from calve.steps.contract import Options, StepContext
from calve.steps.files import write_whole
from calve.steps.options import Variables, read_options
from calve.steps.paths import working_directory
from calve.steps.process.launching import Command
from calve.steps.process.step import ProcessStep
from calve.steps.schema import optional, required, schema
from calve.workflow.params import ParamDefinition, ParamType

_SHELL = "/bin/sh"
_SCRIPT_FILE = "script.sh"


class ShellOptions(Options):
    """What to run, with what around it."""

    section: ClassVar[str | None] = "shell"

    #: The script, which `/bin/sh` runs.
    script: str
    #: Environment variables of the process, beside those of the engine.
    env: Variables = Field(default_factory=dict)
    #: The directory that it runs in, relative to `steps.directory`. If it is not set, `steps.directory`, or a
    #: folder of the attempt.
    cwd: str | None = None


class Shell(ProcessStep):
    """A shell script in a process of its own. The exit code of the script is that of the step."""

    name: ClassVar[str] = "Shell"
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        required("script", ParamType.STRING),
        optional("cwd", ParamType.STRING),
    )
    options: ClassVar[type[Options]] = ShellOptions

    def make_command(self, context: StepContext) -> Command:
        """The script as a file: as an argument, its size would be limited."""
        options = read_options(ShellOptions, context)
        file = write_whole(context.folder / _SCRIPT_FILE, options.script)
        cwd = working_directory(context.settings.steps, options.cwd)
        return Command(argv=(_SHELL, str(file.absolute())), env=options.env, cwd=cwd)
