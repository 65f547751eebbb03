"""The closed lists of the parameter language: types, modes and sources, as Maestro names them."""

from __future__ import annotations

from enum import Enum
from typing import Self

from calve.errors import UsageError


class _Named(Enum):
    """An enum whose members are written by name, in any case."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The member that `text` names."""
        found = cls.__members__.get(text.upper())
        if found is None:
            raise UsageError(
                "PARAM_INVALID",
                f"'{text}' is not a {cls._noun()}",
                "Use one of " + ", ".join(cls.__members__) + ".",
            )
        return found

    @classmethod
    def _noun(cls) -> str:
        return "".join(
            f" {letter.lower()}" if letter.isupper() else letter for letter in cls.__name__
        ).strip()


class ParamType(_Named):
    """What a parameter holds once it is evaluated."""

    STRING = "STRING"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    STRING_MAP = "STRING_MAP"
    STRING_ARRAY = "STRING_ARRAY"
    LONG_ARRAY = "LONG_ARRAY"
    DOUBLE_ARRAY = "DOUBLE_ARRAY"
    BOOLEAN_ARRAY = "BOOLEAN_ARRAY"
    #: Typed, nested parameters; what a literal holds is a mapping of definitions.
    MAP = "MAP"

    @property
    def element(self) -> ParamType | None:
        """The type of the elements of an array type; None for any other type."""
        stem, _, array = self.value.rpartition("_")
        return ParamType[stem] if array == "ARRAY" else None


class ParamMode(_Named):
    """Who may change a parameter, and when. Listed from the loosest to the strictest."""

    #: Anybody, at any time, output params included.
    MUTABLE = "MUTABLE"
    #: On start and on restart.
    MUTABLE_ON_START_RESTART = "MUTABLE_ON_START_RESTART"
    #: On start only.
    MUTABLE_ON_START = "MUTABLE_ON_START"
    #: Nobody, but it is evaluated again on restart.
    IMMUTABLE = "IMMUTABLE"
    #: Nobody, and its result is kept over restarts.
    CONSTANT = "CONSTANT"

    @property
    def strictness(self) -> int:
        """How strict the mode is: a merge may raise it and never lower it."""
        return list(ParamMode).index(self)


class InternalMode(_Named):
    """What the schema of a step type asks of a parameter; not seen after the merge."""

    REQUIRED = "REQUIRED"
    #: Dropped when nobody sets it.
    OPTIONAL = "OPTIONAL"
    PROVIDED = "PROVIDED"
    #: A user may not set it.
    RESERVED = "RESERVED"


class ParamSource(_Named):
    """Who set a parameter last."""

    SYSTEM = "SYSTEM"
    SYSTEM_DEFAULT = "SYSTEM_DEFAULT"
    SYSTEM_INJECTED = "SYSTEM_INJECTED"
    TEMPLATE_SCHEMA = "TEMPLATE_SCHEMA"
    DEFINITION = "DEFINITION"
    SIGNAL = "SIGNAL"
    TIME_TRIGGER = "TIME_TRIGGER"
    OUTPUT_PARAMETER = "OUTPUT_PARAMETER"
    LAUNCH = "LAUNCH"
    RESTART = "RESTART"
    SUBWORKFLOW = "SUBWORKFLOW"
    TEMPLATE = "TEMPLATE"
    FOREACH = "FOREACH"
    WHILE = "WHILE"
    WORKFLOW_PARAMETER = "WORKFLOW_PARAMETER"

    @property
    def is_system(self) -> bool:
        """True where the system itself speaks: no mode binds it."""
        return self in _SYSTEM_SOURCES


_SYSTEM_SOURCES = frozenset(
    {
        ParamSource.SYSTEM,
        ParamSource.SYSTEM_DEFAULT,
        ParamSource.SYSTEM_INJECTED,
        ParamSource.TEMPLATE_SCHEMA,
    }
)
