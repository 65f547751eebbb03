"""What a Spark step has to do, as a file between the engine and the step's process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from calve.spark.files import read_json, write_json

SPEC_FILE = "spark.json"
PROGRESS_FILE = "progress.json"
FAILURE_FILE = "failure.json"
PROPERTIES_FILE = "spark.properties"
MAIN_FILE = "main.py"

SessionMode = Literal["embedded", "connect", "submit"]


@dataclass(frozen=True, kw_only=True)
class StepSpec:
    """One attempt of a Spark step."""

    attempt: str
    folder: str
    log: str
    session: SessionMode
    #: One of these three is given: SQL, the path of a script, or `module:function`.
    script: str | None = None
    file: str | None = None
    main: str | None = None
    args: list[str] = field(default_factory=list)
    #: Where modules of the user are found.
    search: str
    params: Mapping[str, Any] = field(default_factory=dict)
    #: The params that a result may fill.
    declared: list[str] = field(default_factory=list)
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    #: Temporary views that the session has from its beginning, by name: the queries that they stand for.
    views: Mapping[str, str] = field(default_factory=dict)
    #: The folder of the embedded host.
    host: str | None = None
    url: str | None = None
    master: str | None = None
    java_home: str | None = None
    home: str
    #: The captures that the step runs under, as `OncePlan` has them; None: its writes are not guarded.
    once: Mapping[str, Any] | None = None
    #: The branch that the script writes, and its audits, as `PublishPlan` has them; None: it writes at once.
    publish: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, file: Path) -> Self:
        """The spec that `write` wrote."""
        document = read_json(file)
        if document is None:
            raise FileNotFoundError(f"{file} is not there, or not whole")
        return cls(**document)

    def write(self) -> Path:
        """Put the spec into its folder, readable by its owner only."""
        file = Path(self.folder) / SPEC_FILE
        write_json(file, asdict(self))
        return file
