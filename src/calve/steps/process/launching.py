"""Starting a command, once per folder."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from calve.errors import UsageError
from calve.steps.contract import LOG_FILE
from calve.steps.process import children, wrapper
from calve.steps.process.handle import ProcessHandle, this_host

#: In the environment of the command and of all it starts: by it they are found again.
FOLDER_VARIABLE = "CALVE_STEP_FOLDER"

#: Where a command runs that names no directory; not in the folder itself, whose files are the runner's.
WORK_FOLDER = "work"

#: What Linux takes as one argument or one variable, and, with the usual stack, as all of them together.
MAX_STRING_BYTES = 128 * 1024 - 1
MAX_TOTAL_BYTES = 1536 * 1024


@dataclass(frozen=True, kw_only=True)
class Command:
    """What to run. `env` is added to the environment that every step has."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


def launch(
    folder: Path, argv: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> ProcessHandle:
    """Start `argv` with exactly the environment `env`, or find the process that this folder has started.

    The command has a session of its own, reads nothing, and appends what it writes to the folder's log;
    no pipe leads to the engine. It goes on when the engine dies. Without `cwd` it runs in `folder/work`.
    """
    place = folder.absolute()
    children.reap_all()
    found = wrapper.read_record(place)
    if found is not None:
        return found
    environment = {**env, FOLDER_VARIABLE: str(place)}
    _check_sizes(argv, environment)
    _check_directory(cwd)
    (place / WORK_FOLDER).mkdir(parents=True, exist_ok=True)
    wrapped = [wrapper.SHELL, "-c", wrapper.SCRIPT, wrapper.NAME, str(place), this_host(), *argv]
    with (place / LOG_FILE).open("ab") as log:
        process = _spawn(wrapped, environment, cwd or place / WORK_FOLDER, log.fileno())
    children.keep(process)
    return ProcessHandle.of(process.pid)


def _spawn(argv: Sequence[str], env: Mapping[str, str], cwd: Path, output: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            close_fds=True,
            start_new_session=True,
        )
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise _too_big("the arguments and the environment together are too big") from error
        raise


def _check_sizes(argv: Sequence[str], env: Mapping[str, str]) -> None:
    total = 0
    for what, text in (*(("an argument", item) for item in argv), *_variables(env)):
        size = len(text.encode("utf-8", errors="surrogateescape"))
        total += size
        if "\0" in text:
            raise UsageError(
                "STEP_COMMAND_INVALID",
                f"{what} of the command holds a NUL character",
                "take it out, or read the value from the file that CALVE_PARAMS names",
            )
        if size > MAX_STRING_BYTES:
            raise _too_big(f"{what} of the command has {size:,} bytes, and {MAX_STRING_BYTES:,} are allowed")
    if total > MAX_TOTAL_BYTES:
        raise _too_big(
            f"the arguments and the environment have {total:,} bytes, and {MAX_TOTAL_BYTES:,} are allowed"
        )


def _variables(env: Mapping[str, str]) -> list[tuple[str, str]]:
    for name in env:
        if not name or "=" in name:
            raise UsageError(
                "STEP_COMMAND_INVALID",
                f"'{name}' cannot be the name of an environment variable",
                "use letters, digits and underscores",
            )
    return [(f"the variable {name}", f"{name}={value}") for name, value in env.items()]


def _too_big(message: str) -> UsageError:
    return UsageError(
        "STEP_COMMAND_TOO_BIG", message, "read big values from the file that CALVE_PARAMS names"
    )


def _check_directory(cwd: Path | None) -> None:
    if cwd is not None and not cwd.is_dir():
        raise UsageError(
            "STEP_DIRECTORY_MISSING", f"the working directory {cwd} is not there", "make it, or correct 'cwd'"
        )
