"""Commands that a person is told to give next can be given as they are printed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from calve.cli.demo.command import next_lines
from calve.cli.started import own_command


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that finds no `calve`."""
    monkeypatch.setenv("PATH", str(tmp_path))


def test_a_command_that_the_shell_finds_is_named_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "calve"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [".venv/bin/calve", "demo"])
    assert own_command() == "calve"


@pytest.mark.usefixtures("elsewhere")
def test_a_command_outside_of_the_path_is_named_as_it_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [".venv/bin/calve", "demo"])
    assert own_command() == ".venv/bin/calve"
    lines = next_lines("a place")
    assert lines[0].startswith("  CALVE_HOME='a place' .venv/bin/calve runs ")
    assert all(" .venv/bin/calve " in line for line in lines)


@pytest.mark.usefixtures("elsewhere")
def test_a_module_that_was_run_is_named_with_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/calve/cli/__main__.py", "demo"])
    assert own_command() == f"{sys.executable} -m calve.cli"
