"""Which types of jobs there are: what a definition may write after `type:`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from calve.workflow.definition.model import Workflow
    from calve.workflow.definition.steps import TypedStep

#: The step types that come with Calve.
STEP_TYPES = (
    "NoOp",
    "Sleep",
    "Shell",
    "Python",
    "Sql",
    "Spark",
    "Http",
    "IpCapture",
    "IpCommit",
    "ICDC",
    "IncrementalAppend",
    "IncrementalMerge",
    "IncrementalAggregate",
    "IncrementalRange",
    "WriteAuditPublish",
    "BackfillStage",
)


@dataclass(frozen=True, slots=True)
class JobType:
    """A step type, or a job template over one, in the spelling that is kept."""

    name: str
    #: The step type that a job template is made from; None for a step type.
    template_of: str | None = None
    #: The params that a job of this type has to give.
    required: frozenset[str] = field(default_factory=frozenset)
    #: A map param whose members count as params of the job.
    section: str | None = None


class JobTypes(Protocol):
    """Finds types by their name, in any case of letters."""

    def find(self, name: str, version: str | None = None) -> JobType | None:
        """The type of that name, in that version if it is a template; None if there is none."""

    def names(self) -> Iterable[str]:
        """The names of all types, for guesses."""

    def check(self, step: TypedStep, workflow: Workflow) -> Iterable[tuple[str, bool]]:
        """What the type of a job finds wrong with it, and whether that refuses the definition."""


class KnownJobTypes:
    """A fixed list of types."""

    def __init__(self, types: Iterable[JobType] = ()) -> None:
        self._types = {type_.name.lower(): type_ for type_ in types}

    def find(self, name: str, version: str | None = None) -> JobType | None:
        """The type of that name; versions make no difference here."""
        return self._types.get(name.lower())

    def names(self) -> Iterable[str]:
        """The names of all types."""
        return [type_.name for type_ in self._types.values()]

    def check(self, step: TypedStep, workflow: Workflow) -> Iterable[tuple[str, bool]]:
        """Nothing: of these types only the names are known."""
        return ()


DEFAULT_TYPES = KnownJobTypes(JobType(name) for name in STEP_TYPES)
