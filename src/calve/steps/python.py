"""Python: a function, a script or some lines, in a process of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from calve.steps import python_main
from calve.steps.contract import Options, StepContext
from calve.steps.files import write_whole
from calve.steps.options import Variables, read_options
from calve.steps.paths import base_directory, working_directory
from calve.steps.process.launching import Command
from calve.steps.process.step import ProcessStep
from calve.steps.schema import optional, schema
from calve.workflow.params import ParamDefinition, ParamType

_CALL_FILE = "call.json"
_CODE_FILE = "code.py"
_ERROR_FILE = "error.txt"


class PythonOptions(Options):
    """What to run, with which interpreter."""

    section: ClassVar[str | None] = "python"

    #: A function, `module:function`, that is called with the params that it names. One of main, file and
    #: code.
    main: str | None = Field(default=None, pattern=r"^\w+(\.\w+)*:\w+(\.\w+)*$")
    #: A script, relative to `steps.directory`.
    file: str | None = None
    #: Python itself; `params` has the params of the step, `outputs` takes what it gives.
    code: str | None = None
    #: Arguments of the script, or positional ones of the function.
    args: list[str] = Field(default_factory=list)
    #: Another interpreter than that of Calve; nothing needs to be installed in it.
    python: str | None = None
    #: Environment variables of the process, beside those of the engine.
    env: Variables = Field(default_factory=dict)
    #: The directory that it runs in, relative to `steps.directory`. If it is not set, `steps.directory`, or a
    #: folder of the attempt.
    cwd: str | None = None

    @model_validator(mode="after")
    def _one_thing_to_run(self) -> Self:
        given = [name for name in ("main", "file", "code") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of main, file and code, found {' and '.join(given) or 'none'}")
        return self


class Python(ProcessStep):
    """Python code in a process of its own. What a function returns are the outputs of the step."""

    name: ClassVar[str] = "Python"
    schema: ClassVar[Mapping[str, ParamDefinition]] = schema(
        optional("main", ParamType.STRING),
        optional("file", ParamType.STRING),
        optional("code", ParamType.STRING),
        optional("args", ParamType.STRING_ARRAY),
        optional("python", ParamType.STRING),
        optional("cwd", ParamType.STRING),
    )
    options: ClassVar[type[Options]] = PythonOptions

    def make_command(self, context: StepContext) -> Command:
        """The interpreter on a small program that needs nothing but the standard library."""
        options = read_options(PythonOptions, context)
        call = write_whole(context.folder / _CALL_FILE, json.dumps(_describe_call(options, context)))
        return Command(
            argv=(options.python or sys.executable, "-u", python_main.__file__, str(call.absolute())),
            env=options.env,
            cwd=working_directory(context.settings.steps, options.cwd),
        )

    def failure_text(self, context: StepContext) -> str:
        """The exception, if there was one; the traceback is in the log."""
        try:
            return (context.place / _ERROR_FILE).read_text(encoding="utf-8")
        except FileNotFoundError:
            return super().failure_text(context)


def _describe_call(options: PythonOptions, context: StepContext) -> dict[str, Any]:
    steps = context.settings.steps
    place = context.folder.absolute()
    search = working_directory(steps, options.cwd) or base_directory(steps)
    call = {"args": options.args, "path": str(search), "error": str(place / _ERROR_FILE)}
    if options.main is not None:
        return {**call, "kind": "main", "target": options.main}
    if options.file is not None:
        file = search / Path(options.file).expanduser()
        return {**call, "kind": "file", "target": str(file), "path": str(file.parent)}
    code = write_whole(place / _CODE_FILE, options.code or "")
    return {**call, "kind": "code", "target": str(code)}
