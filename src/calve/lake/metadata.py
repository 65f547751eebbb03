"""A table's metadata file, kept as the writer left it, with the questions capture asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from calve.errors import NotFoundError, RefusedError, UsageError

NEWEST_FORMAT = 3


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of a table."""

    id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str | None
    operation: str | None
    summary: Mapping[str, str]
    schema_id: int | None
    first_row_id: int | None
    added_rows: int | None

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Snapshot:
        """From its JSON in the metadata file."""
        summary = raw.get("summary") or {}
        return cls(
            id=raw["snapshot-id"],
            parent_id=raw.get("parent-snapshot-id"),
            sequence_number=raw.get("sequence-number") or 0,
            timestamp_ms=raw["timestamp-ms"],
            manifest_list=raw.get("manifest-list"),
            operation=summary.get("operation"),
            summary=summary,
            schema_id=raw.get("schema-id"),
            first_row_id=raw.get("first-row-id"),
            added_rows=raw.get("added-rows"),
        )


class TableMetadata:
    """One version of a table's metadata. Snapshots are parsed when they are asked for."""

    def __init__(self, raw: Mapping[str, Any], location: str) -> None:
        self.raw = raw
        self.metadata_location = location

    @property
    def format_version(self) -> int:
        """1, 2 or 3."""
        version: int = self.raw["format-version"]
        return version

    @property
    def uuid(self) -> str:
        """What identifies the table through renames; format 1 tables may lack one."""
        return self.raw.get("table-uuid") or f"location:{self.location}"

    @property
    def location(self) -> str:
        """Where the table's own files are, by default."""
        location: str = self.raw["location"]
        return location

    @property
    def properties(self) -> Mapping[str, str]:
        """The table properties."""
        properties: Mapping[str, str] = self.raw.get("properties") or {}
        return properties

    @cached_property
    def _by_id(self) -> dict[int, Mapping[str, Any]]:
        return {raw["snapshot-id"]: raw for raw in self.raw.get("snapshots") or ()}

    def refuse_unsupported(self, name: str) -> None:
        """Raise where capture cannot promise right rows: newer formats, encrypted tables."""
        if self.format_version > NEWEST_FORMAT:
            raise RefusedError(
                "FORMAT_TOO_NEW",
                f"{name} has format version {self.format_version}; versions 1 to {NEWEST_FORMAT} are known",
                "use a newer Calve, or write the table in an older format version",
            )
        keyed = any(raw.get("key-id") for raw in self.raw.get("snapshots") or ())
        if keyed or self.raw.get("encryption-keys") or "encryption.key-id" in self.properties:
            raise RefusedError(
                "TABLE_ENCRYPTED",
                f"{name} is encrypted, and its keys cannot be carried over to an ICDC table",
                "capture from a table without table encryption",
            )

    # Snapshots and references

    def has_snapshot(self, snapshot_id: int) -> bool:
        """Whether the snapshot is still in the metadata."""
        return snapshot_id in self._by_id

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """A snapshot by its id. Raises SNAPSHOT_NOT_FOUND."""
        raw = self._by_id.get(snapshot_id)
        if raw is None:
            raise NotFoundError(
                "SNAPSHOT_NOT_FOUND",
                f"snapshot {snapshot_id} is not in the history of the table",
                "it may have expired; list what there is in the table's `snapshots` metadata table",
            )
        return Snapshot.parse(raw)

    def snapshots(self) -> tuple[Snapshot, ...]:
        """All snapshots that are in the metadata, those of all branches, in the order of the file."""
        return tuple(map(Snapshot.parse, self._by_id.values()))

    def refs(self) -> Mapping[str, Mapping[str, Any]]:
        """Branches and tags by name."""
        refs: Mapping[str, Mapping[str, Any]] = self.raw.get("refs") or {}
        return refs

    def current_snapshot_id(self, branch: str = "main") -> int | None:
        """The newest snapshot of a branch; None for a table without snapshots."""
        ref = self.refs().get(branch)
        if ref is not None:
            if ref.get("type", "branch") != "branch":
                raise UsageError(
                    "NOT_A_BRANCH",
                    f"{branch!r} is a tag, not a branch",
                    "give a branch, or use the tag as a bound",
                )
            snapshot_id: int = ref["snapshot-id"]
            return snapshot_id
        if branch == "main":
            current = self.raw.get("current-snapshot-id")
            return None if current is None or current == -1 else int(current)
        raise NotFoundError(
            "BRANCH_NOT_FOUND",
            f"the table has no branch {branch!r}; it has {', '.join(sorted(self.refs())) or 'none'}",
            "check the name of the branch",
        )

    def resolve(self, ref: str | int) -> int:
        """The id of a snapshot given as an id, a branch or a tag."""
        named = self.refs().get(str(ref))
        if named is not None:
            return int(named["snapshot-id"])
        if isinstance(ref, int) or ref.lstrip("-").isdigit():
            return self.snapshot(int(ref)).id
        known = ", ".join(sorted(self.refs())) or "none"
        raise NotFoundError(
            "SNAPSHOT_NOT_FOUND",
            f"{ref!r} is neither a snapshot id nor a branch or tag of the table (it has {known})",
            "give a snapshot id, a branch or a tag",
        )

    def ancestry(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """A snapshot and its ancestors, newest first, up to the root or to where history expired."""
        while snapshot_id is not None and snapshot_id in self._by_id:
            snapshot = Snapshot.parse(self._by_id[snapshot_id])
            yield snapshot
            snapshot_id = snapshot.parent_id

    def is_ancestor(self, older: int, newer: int) -> bool:
        """Whether `newer` was made from `older`, possibly in several steps."""
        return any(snapshot.id == older for snapshot in self.ancestry(newer))

    def snapshot_before(self, timestamp_ms: int, branch: str = "main") -> int | None:
        """The newest snapshot of a branch that is not younger than a moment."""
        for snapshot in self.ancestry(self.current_snapshot_id(branch)):
            if snapshot.timestamp_ms <= timestamp_ms:
                return snapshot.id
        return None

    # Schemas and specs

    @cached_property
    def schemas(self) -> Mapping[int, Mapping[str, Any]]:
        """All schemas by id, in the order of the metadata file."""
        listed = self.raw.get("schemas") or [self.raw["schema"]]
        return {schema.get("schema-id", 0): schema for schema in listed}

    def schema_of(self, snapshot: Snapshot | None) -> Mapping[str, Any]:
        """The schema that a snapshot is read with; the current one where none was noted."""
        noted = (
            None if snapshot is None or snapshot.schema_id is None else self.schemas.get(snapshot.schema_id)
        )
        if noted is not None:
            return noted
        return self.schemas[self.current_schema_id]

    @property
    def current_schema_id(self) -> int:
        """The schema that new rows are written with."""
        found: int = self.raw.get("current-schema-id", next(iter(self.schemas)))
        return found

    @property
    def default_spec(self) -> tuple[Mapping[str, Any], ...]:
        """The partition fields that new rows are written with."""
        return self.specs[self.raw.get("default-spec-id", max(self.specs))]

    @cached_property
    def specs(self) -> Mapping[int, tuple[Mapping[str, Any], ...]]:
        """The fields of all partition specs, by spec id."""
        listed = self.raw.get("partition-specs")
        if not listed:
            return {0: tuple(self.raw.get("partition-spec") or ())}
        return {spec["spec-id"]: tuple(spec["fields"]) for spec in listed}

    @cached_property
    def unpartitioned_specs(self) -> frozenset[int]:
        """The specs without a partition field, or with none left that is not void."""
        return frozenset(
            spec_id
            for spec_id, fields in self.specs.items()
            if all(field["transform"] == "void" for field in fields)
        )

    def field_type(self, field_id: int) -> Any:
        """The newest type of a top-level or nested field, also of one that was dropped; else None."""
        for schema in reversed(list(self.schemas.values())):
            found = find_field(schema, field_id)
            if found is not None:
                return found["type"]
        return None


def find_field(struct: Mapping[str, Any], field_id: int) -> Mapping[str, Any] | None:
    """A field of a schema by its id, also inside structs, or None."""
    for column in struct["fields"]:
        if column["id"] == field_id:
            return column  # type: ignore[no-any-return]
        if isinstance(column["type"], dict) and column["type"].get("type") == "struct":
            found = find_field(column["type"], field_id)
            if found is not None:
                return found
    return None


def has_field(schema: Mapping[str, Any], field_id: int) -> bool:
    """Whether a schema has a field of this id, also inside structs."""
    return find_field(schema, field_id) is not None


def find_column(schema: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """A top-level column by its name, or None."""
    return next((column for column in schema["fields"] if column["name"] == name), None)


def find_nested(schema: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """A column by its name, or a field inside structs by its dotted path, or None."""
    found = find_column(schema, path)
    at = path.find(".")
    while found is None and at >= 0:
        # A name may have dots of its own, so every split is tried.
        outer = find_column(schema, path[:at])
        if outer is not None and isinstance(outer["type"], dict) and outer["type"]["type"] == "struct":
            found = find_nested(outer["type"], path[at + 1 :])
        at = path.find(".", at + 1)
    return found
