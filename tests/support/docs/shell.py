"""The commands of a page, in bash, one after the other as a person would give them."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.docs.checks import PLACEHOLDER

TIMEOUT_S = 600
#: Commands that go on: they get a place of their own, as a person gives them a terminal.
_GOES_ON = re.compile(r"^calve (dev|server|worker)\b[^&#]*&?")
_ADDRESS = "127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class Way:
    """How a block is run: whether names are filled in, when it is ended, what it reads."""

    fill: bool = False
    ends_after: float | None = None
    input: str = ""


@dataclass
class Shell:
    """A bash in a folder of its own: it stays where a `cd` went, and the servers it started go on."""

    folder: Path
    environment: Mapping[str, str]
    port: int
    told: dict[str, str] = field(default_factory=dict)
    servers: list[subprocess.Popen[str]] = field(default_factory=list)

    @classmethod
    def in_folder(cls, folder: Path) -> Shell:
        """A shell whose home is a folder beside, so that nothing of the person who tests is used."""
        home = folder.parent / "person"
        home.mkdir(exist_ok=True)
        # Jars that were fetched once serve all.
        (home / ".ivy2.5.2").symlink_to(Path.home() / ".ivy2.5.2")
        port = _free_port()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CALVE_")}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {
            "HOME": str(home),
            "PATH": path,
            "CALVE_API__PORT": str(port),
            "COLUMNS": "120",
            # Each JVM runs a few statements: to make its code fast would take longer than they do.
            "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        return cls(folder, {**kept, **own}, port)

    def run(self, text: str, way: Way = Way()) -> str:  # noqa: B008  it is frozen
        """What a block prints; a command that fails is an AssertionError with all that was printed."""
        printed, script = "", ""
        text = self.filled(text) if way.fill else text
        for line in text.replace(_ADDRESS, f"127.0.0.1:{self.port}").replace("\\\n", " ").splitlines():
            going_on = _GOES_ON.match(line)
            if going_on is None:
                script += line + "\n"
                continue
            printed += self._run_script(script, way)
            self._begin(going_on[0].rstrip("& "))
            script = ""
        printed += self._run_script(script, way)
        self._remember(printed)
        return printed

    def filled(self, text: str) -> str:
        """A text with what was told in the place of each `<name>`."""
        return PLACEHOLDER.sub(lambda found: self.told[found[1]], text)

    def close(self) -> None:
        """End what goes on."""
        for server in self.servers:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(timeout=60)
            except subprocess.TimeoutExpired:
                server.kill()
                raise

    def _run_script(self, script: str, way: Way) -> str:
        if not script.strip():
            return ""
        where = self.folder.parent / "where"
        begin = [] if way.ends_after is None else ["timeout", str(way.ends_after)]
        done = subprocess.run(
            [*begin, "bash", "-c", f"set -euo pipefail\n{script}\npwd > '{where}'"],
            cwd=self.folder,
            env=self.environment,
            input=f"{way.input}\n",
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        expected = 0 if way.ends_after is None else 124
        assert done.returncode == expected, f"{script}\n{done.stdout}\n{done.stderr}"
        if where.exists():
            self.folder = Path(where.read_text().strip())
        return done.stdout

    def _begin(self, command: str) -> None:
        file = self.folder.parent / "servers.log"
        file.touch()
        before = file.stat().st_size
        with file.open("a") as log:
            server = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                text=True,
            )
        self.servers.append(server)
        deadline = time.monotonic() + TIMEOUT_S
        # It prints one line once it is ready.
        while file.stat().st_size == before:
            assert server.poll() is None, file.read_text()
            assert time.monotonic() < deadline, f"{command} did not become ready"
            time.sleep(0.1)

    def _remember(self, printed: str) -> None:
        """Keep the values of a JSON object that a command printed, or of the one it lists, for `fill`."""
        start = printed.find("{")
        if start < 0:
            return
        try:
            found, _ = json.JSONDecoder().raw_decode(printed[start:])
        except ValueError:
            return
        for value in list(found.values()):
            if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
                found |= value[0]
        self.told |= {name: str(value) for name, value in found.items() if value is not None}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
