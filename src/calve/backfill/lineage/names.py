"""Names of tables as SQL writes them, brought to their full form without asking any catalog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from calve.backfill.lineage.model import Cause
from calve.backfill.lineage.stand_ins import StandIns
from calve.errors import UsageError
from calve.lake.catalogs import Lake, split_name
from calve.spark.targets import dotted

#: What Iceberg shows of a table under a name behind its own.
_METADATA = re.compile(
    r"(all_)?(data_files|delete_files|entries|files|manifests)|history|metadata_log_entries|partitions"
    r"|position_deletes|refs|snapshots",
    re.IGNORECASE,
)
_SELECTOR = re.compile(r"(branch|tag)_.+|(at_timestamp|snapshot_id)_\d+|changes", re.IGNORECASE)
_FORMATS = frozenset({"avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml"})
_FULL_PARTS = 3
_WITHOUT_CATALOG = 2


@dataclass(frozen=True, slots=True)
class Named:
    """A table by its full name. `is_change`: an ICDC table of it is meant."""

    table: str
    is_change: bool = False


@dataclass(frozen=True, slots=True)
class Nameless:
    """A name that is no table of the lake, and why."""

    cause: Cause
    why: str


@dataclass(slots=True)
class TableNames:
    """What names mean in one script."""

    lake: Lake
    stand_ins: StandIns
    #: Full names that captures give to their ICDC tables, and the tables that they show.
    icdc_names: Mapping[str, str] = field(default_factory=dict)
    #: What `USE` says, if anything does.
    current: tuple[str, ...] = ()
    _found: dict[tuple[str, ...], Named | Nameless] = field(default_factory=dict)

    def find(self, name: str) -> Named | Nameless:
        """The table of a name in one text."""
        unknown = self._unknown(name)
        if unknown is not None:
            return unknown
        changed = self.stand_ins.changed_table(name.strip())
        try:
            return Named(changed, True) if changed is not None else self.find_parts(split_name(name.strip()))
        except UsageError as error:
            return Nameless(Cause.NAME, error.message)

    def find_parts(self, parts: tuple[str, ...]) -> Named | Nameless:
        """The table of a name in parts."""
        if parts not in self._found:
            self._found[parts] = self._find_parts(parts)
        return self._found[parts]

    def _find_parts(self, parts: tuple[str, ...]) -> Named | Nameless:
        unknown = self._unknown(dotted(parts))
        if unknown is not None:
            return unknown
        changed = next((x for part in parts if (x := self.stand_ins.changed_table(part)) is not None), None)
        if changed is not None:
            return Named(changed, is_change=True)
        if len(parts) == _WITHOUT_CATALOG and parts[0].lower() in _FORMATS and not parts[1].isidentifier():
            return Nameless(Cause.OUTSIDE, f"{dotted(parts)} are files, not a table of the lake")
        return self._resolve(self._whole(self._plain(parts)))

    def use(self, parts: tuple[str, ...]) -> None:
        """Take note of `USE parts`: names of one part are in it from now on."""
        self._found.clear()
        is_catalog = len(parts) == 1 and parts[0] in self.lake.settings.catalogs
        self.current = (
            parts if is_catalog or len(parts) > 1 or not self.current else (self.current[0], *parts)
        )

    def _plain(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """Without what names a branch, a snapshot, or the metadata of a table."""
        least = _FULL_PARTS if parts[0] in self.lake.settings.catalogs else _WITHOUT_CATALOG
        behind = any(pattern.fullmatch(parts[-1]) for pattern in (_METADATA, _SELECTOR))
        return self._plain(parts[:-1]) if behind and len(parts) > least else parts

    def _whole(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        if len(parts) == 1:
            return (*self.current, *parts)
        if len(parts) == _WITHOUT_CATALOG and self.current and self.current[0] in self.lake.settings.catalogs:
            return (self.current[0], *parts)
        return parts

    def _resolve(self, parts: tuple[str, ...]) -> Named | Nameless:
        try:
            full = str(self.lake.resolve(dotted(parts)))
        except UsageError as error:
            outside = error.code == "CATALOG_UNKNOWN"
            return Nameless(Cause.OUTSIDE if outside else Cause.NAME, error.message)
        shown = self.icdc_names.get(full)
        return Named(full) if shown is None else Named(shown, is_change=True)

    def _unknown(self, name: str) -> Nameless | None:
        params = self.stand_ins.params_in(name)
        if not params:
            return None
        listed = ", ".join(params)
        told = self.stand_ins.tell(name).replace("`", "")
        return Nameless(Cause.PARAM, f"the name {told} needs {listed}, known only when the workflow runs")
