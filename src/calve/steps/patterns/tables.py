"""The tables of a pattern, read from metadata: columns, partitions, and which of these are there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from calve.errors import UsageError
from calve.lake import Changes, Lake, SourceTable, open_table
from calve.lake.history import manifests_of
from calve.lake.manifest_list import ManifestFile
from calve.lake.metadata import TableMetadata
from calve.lake.pruning import result_type
from calve.lake.values import decode_bound
from calve.lake.values import to_json as value_to_json
from calve.spark.once.scope import STATEMENT_PROPERTY
from calve.steps.patterns.rendering.filters import PartitionField
from calve.steps.patterns.rendering.request import Request, Source, Target
from calve.steps.patterns.rendering.values import Value, read_value


def view(
    lake: Lake,
    changes: Changes,
    target_name: str,
    *,
    alias: str | None = None,
    stated: Mapping[str, str] | None = None,
    branch: str | None = None,
    base: str | None = None,
    is_own: Callable[[str], bool] = lambda marker: False,
) -> Request:
    """The source and the target of a pattern; `base` is the branch of the target whose state counts, if it
    has that, and `branch` the one that the statements name.

    `is_own` tells the markers of this step's own writes: the target is looked at as it was before them, so
    that what is rendered again is what was rendered first. Raises TARGET_IS_SOURCE, or what opening raises.
    """
    source = source_of(open_table(lake, changes.table), changes, alias)
    table = open_table(lake, target_name)
    if table.uuid == changes.table_uuid:
        raise UsageError(
            "TARGET_IS_SOURCE",
            f"the target {table.name} is the source: each run would process what the one before wrote",
            "write to another table",
        )
    pairs = {name: name for name in source.columns} | dict(stated or {})
    return Request(source, target_of(table, source, pairs, branch, base, is_own))


def source_of(table: SourceTable, changes: Changes, alias: str | None = None) -> Source:
    """A source, with the columns that its change is read with."""
    metadata = table.metadata
    end = changes.to_snapshot_id
    known = end is not None and metadata.has_snapshot(end)
    schema = metadata.schema_of(metadata.snapshot(end) if known and end is not None else None)
    columns = _types(schema)
    # Files that are in no partition have no partition values either.
    fields = [] if metadata.unpartitioned_specs else _fields(metadata, schema, metadata.specs.values())
    return Source(changes, alias or table.name.table, columns, fields, _required(schema))


def target_of(
    table: SourceTable,
    source: Source,
    pairs: Mapping[str, str],
    branch: str | None = None,
    base: str | None = None,
    is_own: Callable[[str], bool] = lambda marker: False,
) -> Target:
    """A target; `pairs` are its columns that have the values of columns of the source."""
    metadata = table.metadata
    schema = metadata.schema_of(None)
    spec = metadata.default_spec
    fields = _fields(metadata, schema, [spec])
    name = str(table.name)
    before = _before_own(metadata, _state_of(metadata, base), is_own)
    missing = {
        field.column: _missing(table, before, field, source, pairs[field.column])
        for field in fields
        if field.transform == "identity" and field.column in pairs and pairs[field.column] in source.columns
    }
    return Target(
        name=name,
        written=name if branch is None else f"{name}.`branch_{branch}`",
        columns=_types(schema),
        required=_required(schema),
        partition_fields=fields,
        missing={column: values for column, values in missing.items() if values},
    )


def _required(schema: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(column["name"] for column in schema["fields"] if column.get("required"))


def _types(schema: Mapping[str, Any]) -> dict[str, str]:
    return {
        column["name"]: column["type"] if isinstance(column["type"], str) else column["type"]["type"]
        for column in schema["fields"]
    }


def _fields(
    metadata: TableMetadata, schema: Mapping[str, Any], specs: Iterable[Sequence[Mapping[str, Any]]]
) -> list[PartitionField]:
    """The partition fields of top-level columns. A name that means two things in two specs is left out."""
    columns = {column["id"]: column for column in schema["fields"]}
    found: dict[str, set[PartitionField]] = {}
    for field in (field for spec in specs for field in spec if field["transform"] != "void"):
        column = columns.get(field["source-id"])
        if column is None or not isinstance(column["type"], str):
            # Known under that name all the same, so that it is not taken for another.
            made = PartitionField(field["name"], "", "", field["transform"])
        else:
            made = PartitionField(field["name"], column["name"], column["type"], field["transform"])
        found.setdefault(field["name"], set()).add(made)
    return [next(iter(made)) for made in found.values() if len(made) == 1 and next(iter(made)).column]


def _state_of(metadata: TableMetadata, branch: str | None) -> int | None:
    """The newest snapshot of a branch, or of the table itself where there is no such branch."""
    return metadata.current_snapshot_id(branch if branch in metadata.refs() and branch else "main")


def _before_own(metadata: TableMetadata, head: int | None, is_own: Callable[[str], bool]) -> int | None:
    """The newest snapshot of the target, up to `head`, before any of the step's own writes."""
    base = head
    for snapshot in metadata.ancestry(head):
        if is_own(snapshot.summary.get(STATEMENT_PROPERTY, "")):
            base = snapshot.parent_id
    return base


def _missing(
    table: SourceTable, base: int | None, field: PartitionField, source: Source, column: str
) -> frozenset[Value]:
    """The values of the change that no live file of the target has, judged by the bounds of its manifests."""
    values = {value for found in source.filters(column) for value in found.values}
    metadata = table.metadata
    if base is None or not values:
        return frozenset(values)
    if not metadata.has_snapshot(base):
        return frozenset()
    for manifest in manifests_of(table.io, metadata.snapshot(base)):
        if manifest.is_data and _is_live(manifest):
            bounds = _bounds(metadata, manifest, field)
            values = set() if bounds is None else {x for x in values if not bounds[0] <= x <= bounds[1]}
    return frozenset(values)


def _bounds(metadata: TableMetadata, manifest: ManifestFile, field: PartitionField) -> tuple[Any, Any] | None:
    """Between what the column lies in the files of a manifest; None if that is not known."""
    for at, raw in enumerate(metadata.specs[manifest.spec_id]):
        if raw["name"] != field.name or raw["transform"] != "identity" or manifest.partitions is None:
            continue
        kind, summary = result_type(metadata, raw), manifest.partitions[at]
        if kind is None or summary.lower is None or summary.upper is None:
            return None
        lower, upper = (
            read_value(kind, value_to_json(kind, decode_bound(kind, end)))
            for end in (summary.lower, summary.upper)
        )
        return None if lower is None or upper is None else (lower, upper)
    return None


def _is_live(manifest: ManifestFile) -> bool:
    """Whether a manifest may list files that are there; old writers do not count them."""
    return manifest.added_files is None or bool(manifest.added_files or manifest.existing_files)
