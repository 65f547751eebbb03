"""Logs: quiet by default, structured, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from calve import logs


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    before = (root.level, list(root.handlers))
    yield
    root.setLevel(before[0])
    root.handlers[:] = before[1]


def test_only_warnings_are_written_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    log = logs.get_logger("calve.test")
    log.info("hidden")
    log.warning("shown", files=3)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "hidden" not in printed.err
    assert "shown" in printed.err
    assert "files=3" in printed.err


def test_the_environment_sets_the_level(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALVE_LOG_LEVEL", "debug")
    logs.configure()
    logs.get_logger("calve.test").debug("shown")
    assert "shown" in capsys.readouterr().err


def test_secrets_are_masked(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    logs.get_logger("calve.test").warning("opened", **{"s3.secret-access-key": "hidden", "token": "hidden"})
    assert "hidden" not in capsys.readouterr().err
