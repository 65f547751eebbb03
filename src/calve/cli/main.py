"""The command `calve`: the list of commands, loading them when used, and the error boundary.

A command is one line in COMMANDS. Its module is imported only when the command is called, so
that `calve --help` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import Abort, TyperException

from calve import __version__
from calve.cli import output
from calve.errors import CalveError, FailedError, UsageError

PROGRAM = "calve"
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: `attribute` of `module` is a function, or a `Typer` for a command with parts."""

    name: str
    module: str
    attribute: str
    help: str


COMMANDS: tuple[Entry, ...] = (
    Entry("demo", "calve.cli.demo.command", "demo", "See the change processed, beside a lookback window."),
    Entry("init", "calve.cli.init", "init", "Begin a project, or make a home with an embedded lake."),
    Entry(
        "spark-conf",
        "calve.cli.spark_conf",
        "spark_conf",
        "Print the settings that join a Spark to the lake.",
    ),
    Entry("capture", "calve.cli.capture", "capture", "Capture what changed in a table for a consumer."),
    Entry("commit", "calve.cli.capture", "commit", "Commit a capture: its changes are processed."),
    Entry(
        "release", "calve.cli.capture", "release", "Release a capture: its changes belong to the next one."
    ),
    Entry("changes", "calve.cli.capture", "changes", "Show what changed between two snapshots."),
    Entry("verify", "calve.cli.capture", "verify", "Check that the files of a capture can still be read."),
    Entry("lag", "calve.cli.lag", "lag", "Show what consumers have not processed yet."),
    Entry("lineage", "calve.cli.lineage", "lineage", "Show what tables and workflows are made from."),
    Entry(
        "backfill", "calve.cli.backfill.app", "app", "Process a range of history again, and all downstream."
    ),
    Entry("savings", "calve.cli.savings", "savings", "Show what captures saved against a lookback window."),
    Entry("checkpoint", "calve.cli.checkpoint", "app", "Show, set or reset a consumer's checkpoint."),
    Entry("validate", "calve.cli.validate", "validate", "Check workflow files without pushing them."),
    Entry("render", "calve.cli.render", "render", "Print the SQL that the patterns of a workflow would run."),
    Entry("push", "calve.cli.push", "push", "Push workflows: new versions, all or none."),
    Entry("run", "calve.cli.run", "run", "Start a workflow."),
    Entry("list", "calve.cli.workflows", "list_workflows", "List workflows."),
    Entry("show", "calve.cli.workflows", "show", "Show the definition of a workflow."),
    Entry("runs", "calve.cli.runs", "runs", "List runs, or show one with its steps."),
    Entry("logs", "calve.cli.logs", "logs", "Print the log of a step."),
    Entry("stop", "calve.cli.control", "stop", "Stop instances or a step."),
    Entry("kill", "calve.cli.control", "kill", "Kill instances or a step: they have failed."),
    Entry("restart", "calve.cli.run", "restart", "Run an instance again, or from a step on."),
    Entry("skip", "calve.cli.control", "skip", "Skip a step."),
    Entry("bypass", "calve.cli.control", "bypass", "Let a step go on without its signals."),
    Entry("unblock", "calve.cli.control", "unblock", "Let a strict sequence go on after a failure."),
    Entry("pause", "calve.cli.control", "pause", "Pause a workflow or an instance."),
    Entry("resume", "calve.cli.control", "resume", "Let a workflow or an instance go on."),
    Entry("signal", "calve.cli.signal", "signal", "Send a signal."),
    Entry(
        "valid-through",
        "calve.cli.valid_through",
        "valid_through",
        "Show or say up to which time a table is complete.",
    ),
    Entry("triggers", "calve.cli.triggers", "triggers", "Show what starts a workflow by itself, and why."),
    Entry("server", "calve.cli.processes", "server", "Serve the web pages and the API."),
    Entry("worker", "calve.cli.processes", "worker", "Run an engine."),
    Entry("dev", "calve.cli.processes", "dev", "Serve the web pages and the API, and run an engine."),
    Entry("prune", "calve.cli.prune", "prune", "Remove instances that ended long ago."),
    Entry("gc", "calve.cli.gc", "gc", "Remove ICDC tables that nobody needs any more."),
    Entry("sel", "calve.cli.sel", "sel", "Try an expression of SEL, the language of params."),
)


class LazyGroup(TyperGroup):
    """A group that lists its commands from COMMANDS, and imports the one that is called."""

    def __init__(self, **attributes: Any) -> None:
        listed = {entry.name: TyperCommand(entry.name, help=entry.help) for entry in COMMANDS}
        super().__init__(**{**attributes, "commands": listed})

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command to run: here, and only here, its module is needed."""
        name, _, rest = super().resolve_command(ctx, args)
        entry = next((entry for entry in COMMANDS if entry.name == name), None)
        return name, None if entry is None else load(entry), rest


def load(entry: Entry) -> Any:
    """The command behind an entry, imported."""
    from calve import logs

    logs.configure()
    target: typer.Typer | Callable[..., None] = getattr(
        importlib.import_module(entry.module), entry.attribute
    )
    if isinstance(target, typer.Typer):
        app = target
    else:
        app = typer.Typer(add_completion=False)
        app.command(entry.name)(target)
    app.rich_markup_mode = None
    command = typer.main.get_command(app)
    command.name = entry.name
    return command


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


# Plain help: the rich one takes a tenth of a second to import.
app = typer.Typer(cls=LazyGroup, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Incremental processing for Apache Iceberg: the change, and only the change."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(UsageError.exit_code)


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: run the command line and exit with its code."""
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Run a command line; every error becomes a message, and the exit code is given back."""
    json_output = output.JSON_FLAG in arguments
    try:
        result = typer.main.get_command(app).main(arguments, prog_name=PROGRAM, standalone_mode=False)
        return result if isinstance(result, int) else 0
    except CalveError as error:
        return output.emit_error(error, json_output)
    except TyperException as error:
        return output.emit_error(_usage_error(error), json_output)
    except (Abort, KeyboardInterrupt):
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last boundary: a person never sees a traceback unasked
        return output.emit_error(_internal_error(error), json_output)


def _usage_error(error: TyperException) -> UsageError:
    context = getattr(error, "ctx", None)
    path = PROGRAM if context is None else context.command_path
    return UsageError("USAGE", error.format_message().replace("Value error, ", ""), f"see '{path} --help'")


def _internal_error(error: Exception) -> FailedError:
    import traceback

    if os.environ.get("CALVE_DEBUG") == "1":
        traceback.print_exception(error)
        remedy = "the traceback above says where it happened; please report it"
    else:
        remedy = f"please report it with {_write_traceback(error)}, or run again with CALVE_DEBUG=1"
    summary = " ".join(str(error).split())
    return FailedError("INTERNAL", f"internal error: {type(error).__name__}: {summary}", remedy)


def _write_traceback(error: Exception) -> Path:
    import tempfile
    import traceback

    from calve.settings import find_home

    text = "".join(traceback.format_exception(error))
    for folder in (find_home(), Path(tempfile.gettempdir())):
        file = folder / "errors.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as log:
                log.write(text + "\n")
        except OSError:
            continue
        return file
    return Path(os.devnull)
