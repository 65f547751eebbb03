"""What the steps of incremental processing understand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from calve.lake.model import OnOther, Operation
from calve.ledger.asks import SourceAsk
from calve.ledger.options import CaptureOptions
from calve.settings import Duration
from calve.steps.contract import Options


class CaptureMode(StrEnum):
    """What the steps after a capture want to see of the change."""

    ICDC = "ICDC"
    RANGE = "RANGE"
    BOTH = "BOTH"


class OnEmpty(StrEnum):
    """What becomes of a run that has nothing to process."""

    CONTINUE = "continue"
    SKIP = "skip"


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) or value is None else [value]


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _lowered(value: Any) -> Any:
    return [_lower(item) for item in _listed(value)] if value is not None else value


def _as_source(value: Any) -> Any:
    """A name, a map, or the text of a map: params have no lists of maps."""
    if not isinstance(value, str):
        return value
    return json.loads(value) if value.lstrip().startswith("{") else {"table": value}


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class SourceOption(BaseModel):
    """One source table of a capture."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Its name: `catalog.namespace.table`, or without the catalog.
    table: str = Field(min_length=1)
    #: The branch that is captured. If it is not set, `main`.
    branch: str | None = None
    #: As `range_columns` of the capture, for this table alone.
    range_columns: Texts = ()
    #: By which name its results go where there are several sources.
    alias: str | None = Field(default=None, pattern=r"^[A-Za-z_]\w*$")


class IpCaptureOptions(Options):
    """What to capture, for whom, and what to tell about it."""

    section: ClassVar[str | None] = "ip_capture"
    other_names: ClassVar[Mapping[str, str]] = {"sourceTable": "source_tables", "targetTable": "icdc_name"}

    #: The tables whose changes are captured: one name or a list; each a name, or a map.
    source_tables: Annotated[
        tuple[Annotated[SourceOption, BeforeValidator(_as_source)], ...], BeforeValidator(_listed)
    ] = Field(default=(), min_length=1, validate_default=True)
    #: What is made of the change: a table of it, the range of `range_columns` over it, or both.
    capture_mode: Annotated[CaptureMode, BeforeValidator(_upper)] = CaptureMode.ICDC
    #: Which changes count. More than append makes the change a net one.
    data_operations: Annotated[tuple[Operation, ...], BeforeValidator(_lowered)] = (Operation.APPEND,)
    #: About changes that do not count: skip and count them, or fail.
    on_other_operations: Annotated[OnOther, BeforeValidator(_lower)] = OnOther.SKIP
    #: Columns whose lowest and highest value over the change are told.
    range_columns: Texts = ()
    #: Where the first capture starts: `earliest`, `latest`, a timestamp or a snapshot id. If it is not set,
    #: `earliest`. Later ones start at the checkpoint.
    start_from: Annotated[str | None, BeforeValidator(_as_text)] = None
    #: skip: with nothing to process, all further steps are skipped.
    on_empty: Annotated[OnEmpty, BeforeValidator(_lower)] = OnEmpty.CONTINUE
    #: At most so many files in one capture; the rest waits for the next run. A snapshot is never cut.
    max_files: int | None = Field(default=None, ge=1)
    #: At most so many rows, in the same way.
    max_rows: int | None = Field(default=None, ge=1)
    #: At most so many bytes of files, in the same way.
    max_bytes: int | None = Field(default=None, ge=1)
    #: How long the capture may stay open before `calve gc` reports it, and how long its tables stay if the
    #: commit keeps them. If it is not set, `icdc.ttl` of the settings, and for good.
    ttl: Duration | None = None
    #: A name for the ICDC table, in place of one that is made up for each capture.
    icdc_name: str | None = None
    #: Whose checkpoint it is. If it is not set, `<workflow>/<step>`.
    consumer: str | None = None
    #: Also tell how much a lookback window of this length would have read, from metadata.
    compare_lookback: Duration | None = None
    #: The column that the window is about. If it is not set, a range column, or the time of the partitions.
    lookback_column: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _accept_other_names(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        renamed = {real: params[name] for name, real in cls.other_names.items() if name in params}
        return {**params, **renamed}

    @field_validator("data_operations")
    @classmethod
    def _something(cls, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
        if not operations:
            raise ValueError("no operation is named: leave it out for append")
        return operations

    @field_validator("compare_lookback", "ttl")
    @classmethod
    def _positive(cls, window: timedelta | None) -> timedelta | None:
        if window is not None and window <= timedelta():
            raise ValueError("expected a duration above zero, as 14d, 12h, 30m")
        return window

    @model_validator(mode="after")
    def _range_needs_a_column(self) -> Self:
        named = self.range_columns or any(source.range_columns for source in self.source_tables)
        if self.capture_mode is CaptureMode.RANGE and not named:
            raise ValueError("capture_mode RANGE needs range_columns: the columns whose range is wanted")
        return self

    @model_validator(mode="after")
    def _name_needs_one_source(self) -> Self:
        if self.icdc_name is not None and len(self.source_tables) > 1:
            raise ValueError(
                f"icdc_name names one table, and there are {len(self.source_tables)} source_tables"
            )
        return self

    @property
    def asks(self) -> list[SourceAsk]:
        """The source tables, as the ledger is asked for them."""
        return [SourceAsk(x.table, x.branch, x.range_columns, x.alias) for x in self.source_tables]

    @property
    def capture_options(self) -> CaptureOptions:
        """Which changes count and what is told of them, as the ledger is asked for it."""
        return CaptureOptions.parse(
            operations=[operation.value for operation in self.data_operations],
            on_other=self.on_other_operations.value,
            range_columns=self.range_columns,
        )

    @property
    def wants_table(self) -> bool:
        """Whether the steps after it read the change as a table."""
        return self.capture_mode is not CaptureMode.RANGE


class IpCommitOptions(Options):
    """Which capture is processed, and what to tell the world about it."""

    section: ClassVar[str | None] = "ip_commit"

    #: The step whose capture is processed. If it is not set, the only one of the run.
    capture_step: str | None = None
    #: Leave the ICDC tables; they are dropped otherwise, which never touches a data file.
    keep: bool = False
    #: Say that the targets are complete up to this moment: a timestamp, a date, or milliseconds.
    valid_through: str | int | None = None
    #: Tables that the run wrote, as far as Calve cannot see it by itself.
    tables: Texts = ()
