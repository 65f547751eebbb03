"""Commands in processes of their own that are killed, as `kill -9` does, at a random moment.

Run as a program, this is a server that has everything imported and forks a child for each
command line it reads: what is killed is then the work, and not the imports.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

_PATIENCE_SECONDS = 0.04


class Killer:
    """Runs commands until they get through; a context manager."""

    def __init__(self, environment: Mapping[str, str], folder: Path, seed: int) -> None:
        self._output = folder / "printed.json"
        self._chance = random.Random(seed)
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.killed = 0

    def __enter__(self) -> Killer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.communicate()

    def until_it_gets_through(self, *arguments: str) -> dict[str, Any]:
        """Start a command and kill it; each time it gets a little longer to live."""
        patience = _PATIENCE_SECONDS
        while True:
            self._run_for(self._chance.uniform(0, patience), [*arguments, "--json"])
            if self._output.exists():
                break
            self.killed += 1
            patience *= 1.2
        outcome = json.loads(self._output.read_text())
        assert outcome["code"] == 0, outcome
        printed: dict[str, Any] = json.loads(outcome["printed"])
        return printed

    def _run_for(self, seconds: float, arguments: list[str]) -> None:
        assert self._server.stdin
        assert self._server.stdout
        self._output.unlink(missing_ok=True)
        print(json.dumps([str(self._output), *arguments]), file=self._server.stdin)
        child = int(self._server.stdout.readline())
        ended, _, _ = select.select([self._server.stdout], [], [], seconds)
        if not ended:
            # The server reaps it only before the next command: the number is still this child's.
            os.kill(child, signal.SIGKILL)
        assert self._server.stdout.readline() == "ended\n"


_NEEDED = (
    "calve.cli.capture",
    "calve.cli.main",
    "calve.logs",
    "psycopg",
    "pyiceberg.catalog.sql",
    "pyiceberg.io.pyarrow",
    "sqlalchemy.dialects.postgresql.psycopg",
)


def serve() -> None:
    """In the server: fork a child for each command line, and say when it has ended."""
    for module in _NEEDED:
        importlib.import_module(module)
    unreaped: int | None = None
    for line in sys.stdin:
        if unreaped is not None:
            os.waitpid(unreaped, 0)
        output, *arguments = json.loads(line)
        child = os.fork()
        if child == 0:
            _run_command(arguments, Path(output))
            os._exit(0)
        print(child, flush=True)
        # Seen to end, but not reaped: its number must stay its own as long as it may be killed.
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        unreaped = child
        print("ended", flush=True)


def _run_command(arguments: list[str], output: Path) -> None:
    """In the child: run a command line, and leave what it printed if it gets that far."""
    from calve.cli.main import run

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run(arguments)
    unfinished = output.with_suffix(".tmp")
    unfinished.write_text(json.dumps({"code": code, "printed": printed.getvalue()}))
    unfinished.rename(output)


if __name__ == "__main__":
    serve()
