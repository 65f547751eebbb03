"""What is asked of a capture, apart from where it starts and ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from calve.errors import UsageError
from calve.lake.model import Mode, OnOther, Operation

_CONSUMER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """Which changes count, and what to tell about them. Two captures with equal options on the
    same stretch of history show the same."""

    mode: Mode = Mode.APPEND
    operations: frozenset[Operation] | None = None
    on_other: OnOther = OnOther.SKIP
    range_columns: tuple[str, ...] = ()
    identifier_columns: tuple[str, ...] = ()
    branch: str = "main"

    @classmethod
    def parse(
        cls,
        *,
        mode: str | None = None,
        operations: str | Iterable[str] | None = None,
        on_other: str = OnOther.SKIP.value,
        range_columns: Sequence[str] = (),
        identifier_columns: Sequence[str] = (),
        branch: str = "main",
    ) -> CaptureOptions:
        """Options as people give them. Without a mode, more operations than append mean net."""
        wanted = _operations(operations)
        return cls(
            mode=_mode(mode, wanted),
            operations=wanted,
            on_other=_choice(OnOther, on_other, "ON_OTHER_INVALID", "--on-other"),
            range_columns=tuple(range_columns),
            identifier_columns=tuple(identifier_columns),
            branch=branch,
        )

    def to_json(self) -> dict[str, Any]:
        """The options as the ledger keeps them."""
        return {
            "mode": self.mode.value,
            "operations": None if self.operations is None else sorted(x.value for x in self.operations),
            "on_other": self.on_other.value,
            "range_columns": list(self.range_columns),
            "identifier_columns": list(self.identifier_columns),
            "branch": self.branch,
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> CaptureOptions:
        """The inverse of `to_json`."""
        operations = raw["operations"]
        return cls(
            mode=Mode(raw["mode"]),
            operations=None if operations is None else frozenset(Operation(x) for x in operations),
            on_other=OnOther(raw["on_other"]),
            range_columns=tuple(raw["range_columns"]),
            identifier_columns=tuple(raw["identifier_columns"]),
            branch=raw["branch"],
        )


def check_consumer(name: str) -> str:
    """The name, if it is one that a consumer can have."""
    if _CONSUMER.fullmatch(name):
        return name
    raise UsageError(
        "CONSUMER_NAME_INVALID",
        f"found the consumer name {name!r}; expected a letter or digit, then up to 127 of A-Za-z0-9._:/-",
        "give another name with --consumer",
    )


def _mode(mode: str | None, operations: frozenset[Operation] | None) -> Mode:
    more_than_append = operations is not None and operations != {Operation.APPEND}
    if mode is None:
        return Mode.NET if more_than_append else Mode.APPEND
    chosen = _choice(Mode, mode, "MODE_INVALID", "--mode")
    if chosen is Mode.APPEND and more_than_append:
        raise UsageError(
            "OPERATIONS_NEED_NET",
            "append mode shows the rows of appends, and more operations were asked for",
            "use --mode net, or leave --operations out",
        )
    return chosen


def _operations(raw: str | Iterable[str] | None) -> frozenset[Operation] | None:
    if raw is None:
        return None
    names = raw.split(",") if isinstance(raw, str) else raw
    found = [_choice(Operation, name.strip(), "OPERATION_INVALID", "--operations") for name in names]
    return frozenset(found)


def _choice(kind: type[_Choice], value: str, code: str, option: str) -> _Choice:
    try:
        return kind(value)
    except ValueError:
        expected = ", ".join(x.value for x in kind)
        raise UsageError(code, f"found {value!r}; expected one of {expected}", f"correct {option}") from None
