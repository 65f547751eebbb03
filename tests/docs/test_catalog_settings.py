"""The `calve.toml` of docs/catalogs.md opens the catalogs that it names; the tests serve them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calve.engine.orchestrator import Orchestrator
from calve.lake import Lake
from calve.settings import Settings, load_settings
from support.docs.blocks import ROOT, read_blocks

if TYPE_CHECKING:
    from support.rest import RestServer

_STATE, _CATALOG, _SECRET = (
    "postgresql://calve@db.example/calve",
    "https://catalog.example",
    "/run/secrets/s3",
)


@pytest.fixture
def settings(
    rest_server: RestServer, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """The settings of the page; only addresses are others."""
    (block,) = [one for one in read_blocks(ROOT / "docs" / "catalogs.md") if one.language == "toml"]
    secret = tmp_path / "s3"
    secret.write_text("from a file\n", encoding="utf-8")
    text = block.text
    for theirs, own in ((_STATE, postgres_url), (_CATALOG, rest_server.uri), (_SECRET, str(secret))):
        assert theirs in text
        text = text.replace(theirs, own)
    (tmp_path / "calve.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("CATALOG_CREDENTIAL", "person:word")
    return load_settings(tmp_path)


def test_every_catalog_of_the_page_is_opened(settings: Settings) -> None:
    lake = Lake(settings)
    for name in settings.catalogs:
        catalog = lake.catalog(name)
        catalog.create_namespace_if_not_exists("of_the_docs")
        assert ("of_the_docs",) in catalog.list_namespaces()
    assert lake.resolve("db.events").catalog == "prod"


def test_secrets_of_the_page_come_from_the_environment_and_from_files(settings: Settings) -> None:
    found = settings.catalog_properties("prod")
    assert (found["credential"], found["s3.secret-access-key"]) == ("person:word", "from a file")


def test_the_state_of_the_page_is_made_in_postgresql(settings: Settings) -> None:
    orchestrator = Orchestrator(settings)
    try:
        with orchestrator.database.read() as connection:
            assert connection.dialect.name == "postgresql"
    finally:
        orchestrator.database.close()
