"""The catalogs of the settings, opened once, and the names of tables in them."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from calve.errors import UsageError
from calve.lake import retry

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from calve.settings import Settings

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`\s]+)")
_PLAIN = re.compile(r"\w+")
_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's full name. `str()` gives `catalog.namespace.table`, as Spark SQL takes it."""

    catalog: str
    namespace: tuple[str, ...]
    table: str

    @property
    def identifier(self) -> tuple[str, ...]:
        """The name within its catalog, as PyIceberg takes it."""
        return (*self.namespace, self.table)

    def __str__(self) -> str:
        return ".".join(_quote(part) for part in (self.catalog, *self.identifier))


class Lake:
    """All configured catalogs. Catalogs are opened when first asked for, and kept; safe among threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._opened: dict[str, Catalog] = {}
        self._lock = threading.Lock()

    def catalog(self, name: str) -> Catalog:
        """The PyIceberg catalog of that name.

        Raises `UsageError` CATALOG_UNKNOWN, CATALOG_INVALID or EXTRA_MISSING, and
        `UnreachableError` CATALOG_UNREACHABLE when it does not answer.
        """
        if name not in self.settings.catalogs:
            raise self._unknown(name)
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._open(name)
            return self._opened[name]

    def resolve(self, name: str) -> TableName:
        """`catalog.namespace.table`, or `namespace.table` with one catalog or a default one.

        A part with a dot or another odd character is written in backticks.
        Raises `UsageError` TABLE_NAME_INVALID or CATALOG_UNKNOWN.
        """
        parts = split_name(name)
        if len(parts) == 2:
            return TableName(self._default_catalog(name), parts[:1], parts[1])
        if len(parts) < 2:
            raise _invalid_name(name, "it has no namespace")
        if parts[0] not in self.settings.catalogs:
            raise self._unknown(parts[0])
        return TableName(parts[0], parts[1:-1], parts[-1])

    def _open(self, name: str) -> Catalog:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchPropertyException, NotInstalledError

        properties = self.settings.catalog_properties(name)
        self._make_embedded_home(properties.get("uri", ""))
        try:
            return retry.call(partial(load_catalog, name, **properties), f"catalog {name}")
        except (NotInstalledError, ModuleNotFoundError) as error:
            raise _extra_missing(name, properties, error) from error
        except (ValueError, NoSuchPropertyException) as error:
            raise UsageError(
                "CATALOG_INVALID",
                f"catalog {name} cannot be opened: {error}",
                f"correct [catalogs.{name}] in calve.toml",
            ) from error

    def _make_embedded_home(self, uri: str) -> None:
        """The embedded lake works without `calve init`, so its directory is made when it is first used."""
        if uri.startswith(_SQLITE) and Path(uri.removeprefix(_SQLITE)).is_relative_to(self.settings.home):
            self.settings.ensure_home()

    def _default_catalog(self, name: str) -> str:
        catalogs = self.settings.catalogs
        if self.settings.default_catalog is not None:
            return self.settings.default_catalog
        if len(catalogs) == 1:
            return next(iter(catalogs))
        raise _invalid_name(
            name, f"it names no catalog, and there are several: {', '.join(sorted(catalogs))}"
        )

    def _unknown(self, name: str) -> UsageError:
        return UsageError(
            "CATALOG_UNKNOWN",
            f"there is no catalog {name!r}; the catalogs are: {', '.join(sorted(self.settings.catalogs))}",
            f"use one of these, or add [catalogs.{name}] to {self.settings.home / 'calve.toml'}",
        )


def split_name(name: str) -> tuple[str, ...]:
    """The parts of a dotted name, with backticks taken off. `UsageError` TABLE_NAME_INVALID if it is none."""
    parts: list[str] = []
    position = 0
    while match := _PART.match(name, position):
        parts.append(match[1].replace("``", "`") if match[1] else match[2])
        position = match.end()
        if position == len(name):
            return tuple(parts)
        if name[position] != ".":
            break
        position += 1
    raise _invalid_name(name, f"it is malformed at character {position + 1}")


def _quote(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else f"`{part.replace('`', '``')}`"


def _invalid_name(name: str, reason: str) -> UsageError:
    return UsageError(
        "TABLE_NAME_INVALID",
        f"{name!r} is not the name of a table: {reason}",
        "write it as catalog.namespace.table",
    )


def _extra_missing(name: str, properties: dict[str, str], error: Exception) -> UsageError:
    kind = properties.get("type", "")
    uri = properties.get("uri", "")
    extra = "postgres" if uri.startswith("postgresql") else "hive" if uri.startswith("thrift") else kind
    return UsageError(
        "EXTRA_MISSING",
        f"catalog {name} needs a package that is not installed: {error}",
        f"pip install 'calve[{extra}]'",
    )
