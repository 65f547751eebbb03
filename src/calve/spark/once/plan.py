"""What the engine tells a step's process about the captures that it runs under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from calve.spark.once.guard import Guard, Say
from calve.spark.once.landing import Noted
from calve.spark.once.notes import Notes
from calve.spark.once.scope import Scope
from calve.spark.targets import Write, WriteKind

#: The setting of a session by which writes go to a branch, of tables that allow it.
WAP_BRANCH = "spark.wap.branch"


@dataclass(frozen=True, slots=True)
class OncePlan:
    """Under which captures a step runs, and what is known of its writes."""

    scope: Scope
    #: What earlier attempts are known to have written, by statement.
    noted: Mapping[str, Noted] = field(default_factory=dict)
    #: False only if it is certain that no attempt has ever begun.
    may_have_landed: bool = True
    #: The writes of a script, by statement, in order.
    script: Mapping[str, Write] = field(default_factory=dict)
    #: What the captures tell, by the step that took them.
    captures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The plan as plain JSON."""
        return {
            "scope": [list(pair) for pair in self.scope.paths],
            "noted": {statement: asdict(noted) for statement, noted in self.noted.items()},
            "may_have_landed": self.may_have_landed,
            "script": [[name, write.kind.value, list(write.parts)] for name, write in self.script.items()],
            "captures": dict(self.captures),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The plan that `to_json` wrote."""
        return cls(
            Scope.of(document["scope"]),
            {statement: Noted(**noted) for statement, noted in document["noted"].items()},
            document["may_have_landed"],
            {name: Write(WriteKind(kind), tuple(parts)) for name, kind, parts in document["script"]},
            document["captures"],
        )

    def guard(self, spark: Any, folder: Path, say: Say) -> Guard:
        """What keeps the writes of this attempt, in a session."""
        from calve.spark.once.tables import tables_of

        return Guard(
            scope=self.scope,
            tables=tables_of(spark),
            notes=Notes(folder),
            say=say,
            noted=self.noted,
            may_have_landed=self.may_have_landed,
            script=self.script,
            wap_branch=spark.conf.get(WAP_BRANCH, None),
        )
