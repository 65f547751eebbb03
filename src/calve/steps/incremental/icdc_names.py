"""One name for the ICDC tables that a capture step takes one after the other, besides their own."""

from __future__ import annotations

from calve.errors import CorruptError, NotFoundError, RefusedError, UnreachableError
from calve.lake import Lake, open_table
from calve.lake.model import Changes
from calve.lake.registry import register, unregister

#: What an ICDC table says of itself.
_SOURCE = "calve.source-uuid"


def take_name(lake: Lake, name: str, changes: Changes) -> str:
    """Have a name lead to the ICDC table of a change; its full form. Raises ICDC_NAME_TAKEN."""
    full = lake.resolve(name)
    location = changes.icdc_metadata_location
    if location is None:
        return str(full)
    try:
        found = open_table(lake, name)
    except NotFoundError:
        register(lake, full, location)
        return str(full)
    except (CorruptError, UnreachableError):
        # What is left of one whose metadata was collected.
        _replace(lake, name, location)
        return str(full)
    if found.metadata.raw.get("properties", {}).get(_SOURCE) != changes.table_uuid:
        raise RefusedError(
            "ICDC_NAME_TAKEN",
            f"{full} is there, and is not an ICDC table of {changes.table}",
            "give another 'icdc_name' (targetTable)",
        )
    if found.metadata.metadata_location != location:
        _replace(lake, name, location)
    return str(full)


def _replace(lake: Lake, name: str, location: str) -> None:
    full = lake.resolve(name)
    unregister(lake, full)
    register(lake, full, location)


def free_name(lake: Lake, name: str, changes: Changes) -> None:
    """Take the name away, if it still leads to this change."""
    try:
        found = open_table(lake, name)
    except NotFoundError:
        return
    if found.metadata.metadata_location == changes.icdc_metadata_location:
        unregister(lake, found.name)
