"""Names of tables, and catalogs that open or say why they do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from calve.errors import CalveError, UnreachableError, UsageError
from calve.lake import retry
from calve.lake.catalogs import Lake, TableName
from calve.settings import Settings

REST = {"type": "rest", "uri": "http://127.0.0.1:9"}


def lake_of(home: Path, *names: str, default: str | None = None) -> Lake:
    return Lake(Settings(home=home, catalogs={name: dict(REST) for name in names}, default_catalog=default))


def test_a_full_name_is_taken_apart(home: Path) -> None:
    assert lake_of(home, "a", "b").resolve("b.x.y.t") == TableName("b", ("x", "y"), "t")


def test_the_only_catalog_may_be_left_out(home: Path) -> None:
    assert str(lake_of(home, "a").resolve("x.t")) == "a.x.t"


def test_the_default_catalog_may_be_left_out(home: Path) -> None:
    assert str(lake_of(home, "a", "b", default="b").resolve("x.t")) == "b.x.t"


def test_odd_parts_are_quoted_and_read_back(home: Path) -> None:
    lake = lake_of(home, "a")
    name = lake.resolve("a.x.`odd.na``me`")
    assert name.identifier == ("x", "odd.na`me")
    assert lake.resolve(str(name)) == name


@pytest.mark.parametrize("name", ["", "t", "a..t", "a.x.t.", ".t", "x t.y", "`x.t", "`a`b.t"])
def test_what_is_no_name_is_refused(home: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        lake_of(home, "a").resolve(name)
    assert caught.value.code == "TABLE_NAME_INVALID"


def test_a_name_without_catalog_is_refused_where_there_are_several(home: Path) -> None:
    with pytest.raises(UsageError, match="a, b") as caught:
        lake_of(home, "a", "b").resolve("x.t")
    assert caught.value.code == "TABLE_NAME_INVALID"


@pytest.mark.parametrize("ask", [lambda lake: lake.resolve("c.x.t"), lambda lake: lake.catalog("c")])
def test_an_unknown_catalog_is_refused_with_the_known_ones(home: Path, ask: object) -> None:
    assert callable(ask)
    with pytest.raises(UsageError, match="the catalogs are: a, b") as caught:
        ask(lake_of(home, "a", "b"))
    assert caught.value.code == "CATALOG_UNKNOWN"


def test_the_embedded_lake_opens_without_init_and_is_kept(home: Path) -> None:
    lake = Lake(Settings(home=home))
    assert lake.catalog("lake").list_namespaces() == []
    assert lake.catalog("lake") is lake.catalog("lake")


def test_a_catalog_that_is_down_is_tried_again_and_then_reported(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_SECONDS", 0.001)
    with pytest.raises(UnreachableError, match="catalog a does not answer after 4 attempts") as caught:
        lake_of(home, "a").catalog("a")
    assert (caught.value.code, caught.value.exit_code) == ("CATALOG_UNREACHABLE", 3)


def test_a_missing_extra_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    lake = Lake(Settings(home=home, catalogs={"pg": {"type": "sql", "uri": "postgresql://u@127.0.0.1:9/d"}}))
    with pytest.raises(UsageError) as caught:
        lake.catalog("pg")
    assert (caught.value.code, caught.value.remedy) == ("EXTRA_MISSING", "pip install 'calve[postgres]'")


@pytest.mark.parametrize("properties", [{"type": "nonsense"}, {"type": "sql"}, {"uri": "ftp://x"}])
def test_wrong_properties_of_a_catalog_are_a_users_mistake(home: Path, properties: dict[str, str]) -> None:
    with pytest.raises(CalveError) as caught:
        Lake(Settings(home=home, catalogs={"a": properties})).catalog("a")
    assert caught.value.code == "CATALOG_INVALID"
