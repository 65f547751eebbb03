from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.serving import eventually, running_server

#: Undoes what shells do to commands in the background, and to all below them, and then runs a command.
LISTEN_TO_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
TERMINAL = ("SUCCEEDED", "FAILED", "STOPPED", "TIMED_OUT")


@pytest.fixture
def http(home: Path) -> Iterator[httpx2.Client]:
    """A real server with an engine, as a program sees it."""
    with (
        running_server(home) as url,
        httpx2.Client(base_url=f"{url}/api/v3", headers={"user": "tester"}, timeout=30) as client,
    ):
        yield client


@dataclass(frozen=True)
class Binary:
    """The command `calve` as a process of its own."""

    folder: Path
    environment: dict[str, str]

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "calve.cli", *arguments]

    def __call__(self, *arguments: str, exits: int = 0) -> Any:
        """What a command prints with --json."""
        done = subprocess.run(
            self.command(*arguments, "--json"),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == exits, done
        return json.loads(done.stdout)

    def begin(self, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """A command that goes on."""
        return subprocess.Popen(
            [sys.executable, "-c", LISTEN_TO_CTRL_C, *self.command(*arguments)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )


@pytest.fixture
def calve(tmp_path: Path, home: Path) -> Binary:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CALVE_")}
    return Binary(tmp_path, {**environment, "CALVE_HOME": str(home)})


Until = Callable[[str], dict[str, Any]]


@pytest.fixture
def until_over(http: httpx2.Client) -> Until:
    """Waits for a run, named by its path, to be over."""

    def wait(path: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found: dict[str, Any] = http.get(path).json()
            return found if found["status"] in TERMINAL else None

        return eventually(look, f"the end of {path}")

    return wait
