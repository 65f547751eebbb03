"""Captures that die or fail while their tables are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from calve.errors import CorruptError
from calve.lake import write_changes
from calve.ledger import writing


class Died(BaseException):
    """Stands for kill -9: nothing catches it."""


def die_before(real: Callable[..., Any]) -> Callable[..., Any]:
    def dying(*arguments: Any) -> Any:
        raise Died

    return dying


def die_after(real: Callable[..., Any]) -> Callable[..., Any]:
    def dying(*arguments: Any) -> Any:
        real(*arguments)
        raise Died

    return dying


def fail_before(real: Callable[..., Any]) -> Callable[..., Any]:
    def failing(*arguments: Any) -> Any:
        raise CorruptError("MANIFEST_CORRUPT", "a manifest is damaged", "repair it")

    return failing


def break_write(
    monkeypatch: pytest.MonkeyPatch, how: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    monkeypatch.setattr(writing, "write_changes", how(write_changes))
