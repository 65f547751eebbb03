"""`calve worker` in processes that die at every point of a backfill once; a new one follows each that died.

Run as a program, this is a server that has everything imported and forks an engine for each line it reads.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support.mortal_points import Points, read_deaths

_TESTS = Path(__file__).parents[1]


class MortalEngine:
    """There is an engine at work, if it is looked after."""

    def __init__(self, home: Path) -> None:
        self._deaths = home / "deaths"
        self._server = subprocess.Popen(
            [sys.executable, __file__, str(self._deaths), str(home / "worker.log")],
            env={**os.environ, "CALVE_HOME": str(home), "PYTHONPATH": str(_TESTS)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Not a byte more is read than asked for, so that `select` sees what is left.
            bufsize=0,
        )
        self._pid = self._start()

    @property
    def deaths(self) -> list[str]:
        """Where engines have died so far."""
        return read_deaths(self._deaths)

    def look_after(self, mourn: Callable[[str], None]) -> None:
        """Put a new engine in the place of one that died; before that, `mourn` is told where it did."""
        if self._has_ended():
            mourn(self.deaths[-1])
            self._pid = self._start()

    def end(self) -> None:
        """End it cleanly."""
        if not self._has_ended():
            os.kill(self._pid, signal.SIGTERM)
        self._server.communicate()

    def _has_ended(self) -> bool:
        assert self._server.stdout
        readable, _, _ = select.select([self._server.stdout], [], [], 0)
        if not readable:
            return False
        ended = self._server.stdout.readline().decode()
        assert ended == f"ended {-signal.SIGKILL}\n", ended
        return True

    def _start(self) -> int:
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(b"engine\n")
        return int(self._server.stdout.readline())


def serve(deaths: Path, log: Path) -> None:
    """In the server: fork an engine for each line, and say how it has ended."""
    from calve.cli.main import run

    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(out, 1)
            os.dup2(out, 2)
            Points(deaths).install()
            os._exit(run(["worker", "--json"]))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print("ended", os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
