"""The small shell script around every command: it runs once per folder and records how it ended.

    calve-step FOLDER HOST COMMAND…

It links its own record to FOLDER/process, which only one can, and which is whole from the beginning: of two
wrappers for one folder the second leaves at once, so an engine that cannot tell whether it had started the
command may simply start it again. It catches the signals that end a group, without passing on to the command
that they were caught, and so lives to write FOLDER/exit. It starts nothing more by then, since that could be
ended before it is done; so the code counts once its line is whole.
"""

from __future__ import annotations

from pathlib import Path

from calve.steps.process.handle import ProcessHandle, birth, birth_from_stat, this_host

SHELL = "/bin/sh"
NAME = "calve-step"
RECORD_FILE = "process"
EXIT_FILE = "exit"

SCRIPT = """\
folder=$1 host=$2 boot= stat=
shift 2
{ read -r boot </proc/sys/kernel/random/boot_id; read -r stat </proc/$$/stat; } 2>/dev/null
own=$folder/process.$$
printf '%s\\n' "$host" "$$" "$boot" "$stat" . >"$own" || exit 0
if ! command -p ln "$own" "$folder/process" 2>/dev/null; then
    [ -e "$folder/process" ] || command -p ln "$own" "$folder/process"
    exit 0
fi
trap : HUP INT QUIT TERM
"$@"
code=$?
printf '%s\\n' "$code" >"$folder/exit"
"""

_LINES = 5


def read_record(folder: Path) -> ProcessHandle | None:
    """The process that runs, or ran, the folder's command; None if none has begun.

    A record that was cut off, or that forbids a start, is a process that is not alive.
    """
    file = folder / RECORD_FILE
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except FileNotFoundError:
        return None
    if len(lines) < _LINES or lines[_LINES - 1] != ".":
        return ProcessHandle.nobody()
    host, pid, boot, stat = lines[: _LINES - 1]
    started = birth_from_stat(boot, stat) if stat else _birth_before(file, int(pid), host)
    return ProcessHandle(host, int(pid), started or "")


def _birth_before(file: Path, pid: int, host: str) -> str | None:
    """The birth of a process on a system that tells less: it has to be older than its record."""
    found = birth(pid) if host == this_host() else None
    return found if found is not None and float(found) <= file.stat().st_mtime + 1 else None


def forbid_start(folder: Path) -> None:
    """Make sure that no wrapper that is still on its way begins the folder's command."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        (folder / RECORD_FILE).open("x").close()
    except FileExistsError:
        return


def read_exit_code(folder: Path) -> int | None:
    """What the command ended with; None while it runs, or if nobody was left to record it."""
    try:
        text = (folder / EXIT_FILE).read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    return int(text) if text.endswith("\n") else None
