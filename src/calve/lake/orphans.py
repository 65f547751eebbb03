"""ICDC tables that nobody uses: of crashed captures, and of changes that nobody committed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from pyiceberg.exceptions import NoSuchNamespaceError
from pyiceberg.io import load_file_io

from calve.lake.catalogs import Lake, TableName
from calve.lake.listing import delete_folder, list_files
from calve.lake.registry import unregister
from calve.settings import IcdcSettings


def collect_orphans(
    lake: Lake,
    settings: IcdcSettings,
    keep: Iterable[str],
    older_than: timedelta,
    dry_run: bool = False,
) -> list[str]:
    """Remove ICDC tables that are older than `older_than` and whose metadata is not to be kept.

    Gives the folders that were removed, or would be. Data files are never in them.
    """
    kept = {_folder(location) for location in keep}
    cutoff = datetime.now(UTC) - older_than
    removed: list[str] = []
    for catalog_name in lake.settings.catalogs:
        for folder in _stale_folders(lake, catalog_name, settings, cutoff):
            if folder in kept:
                continue
            removed.append(folder)
            if not dry_run:
                name = TableName(catalog_name, (settings.namespace,), folder.rsplit("/", 1)[1])
                unregister(lake, name)
                delete_folder(load_file_io(lake.catalog(catalog_name).properties, folder), folder)
    return sorted(set(removed))


def _folder(metadata_location: str) -> str:
    return metadata_location.rpartition("/metadata/")[0]


def _stale_folders(lake: Lake, catalog_name: str, settings: IcdcSettings, cutoff: datetime) -> list[str]:
    newest: dict[str, datetime] = {}
    for base in _bases(lake, catalog_name, settings):
        io = load_file_io(lake.catalog(catalog_name).properties, base)
        for file in list_files(io, f"{base}/{settings.namespace}"):
            folder = _folder(file.location)
            if folder:
                modified = file.modified or datetime.now(UTC)
                newest[folder] = max(modified, newest.get(folder, modified))
    return [folder for folder, modified in newest.items() if modified < cutoff]


def _bases(lake: Lake, catalog_name: str, settings: IcdcSettings) -> set[str]:
    """The folders of ICDC tables: where new ones go, and where registered ones are."""
    if settings.location:
        return {settings.location.rstrip("/")}
    catalog = lake.catalog(catalog_name)
    warehouse = catalog.properties.get("warehouse", "")
    if "/" in warehouse:
        return {f"{warehouse.rstrip('/')}/_icdc"}
    try:
        tables = [catalog.load_table(name) for name in catalog.list_tables(settings.namespace)]
    except NoSuchNamespaceError:
        return set()
    return {table.location().rsplit("/", 2)[0] for table in tables}
