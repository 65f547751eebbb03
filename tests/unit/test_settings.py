"""Where the settings come from, and what is said about wrong ones."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from calve.errors import UsageError
from calve.settings import Settings, find_home, load_settings


def write(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "calve.toml").write_text(text, encoding="utf-8")


def test_home_is_the_one_named_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".calve").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALVE_HOME", str(tmp_path / "named"))
    assert find_home() == tmp_path / "named"


def test_home_is_local_where_init_made_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".calve").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_home() == tmp_path / ".calve"


def test_home_is_the_users_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert find_home() == tmp_path / "me" / ".calve"


def test_a_home_given_by_the_caller_beats_the_environment(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("CALVE_HOME", "/elsewhere")
    assert load_settings(home).home == home


def test_without_a_file_the_embedded_lake_is_implied_and_nothing_is_made(home: Path) -> None:
    settings = load_settings(home)
    assert settings.catalog_properties("lake") == {
        "type": "sql",
        "uri": f"sqlite:///{home}/catalog.db",
        "warehouse": f"file://{home}/warehouse",
    }
    assert settings.state_url == f"sqlite:///{home}/state.db"
    assert settings.icdc.ttl == timedelta(days=7)
    assert not home.exists()


def test_dotted_keys_and_quoted_keys_are_the_same_property(home: Path) -> None:
    write(home, '[catalogs.a]\ns3.endpoint = "x"\n"s3.region" = "y"\npool_pre_ping = true\n')
    assert load_settings(home).catalogs["a"] == {
        "s3.endpoint": "x",
        "s3.region": "y",
        "pool_pre_ping": "true",
    }


def test_the_environment_goes_above_the_file(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    write(home, '[catalogs.a]\ntype = "rest"\nuri = "http://file"\n[icdc]\nttl = "1d"\nnamespace = "mine"\n')
    monkeypatch.setenv("CALVE_CATALOGS__A__URI", "http://environment")
    monkeypatch.setenv("CALVE_CATALOGS__A__S3__ACCESS_KEY_ID", "id")
    monkeypatch.setenv("CALVE_ICDC__TTL", "12h")
    settings = load_settings(home)
    assert settings.catalogs["a"] == {"type": "rest", "uri": "http://environment", "s3.access-key-id": "id"}
    assert (settings.icdc.ttl, settings.icdc.namespace) == (timedelta(hours=12), "mine")


def test_secrets_come_from_the_environment_and_from_files(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    write(
        home,
        '[catalogs.a]\nuri = "postgresql://me:${PASSWORD_OF_A}@host/db"\n'
        '"s3.secret-access-key_file" = "${home}/key"\n',
    )
    (home / "key").write_text("from file\n")
    monkeypatch.setenv("PASSWORD_OF_A", "hidden")
    settings = load_settings(home)
    assert settings.catalog_properties("a") == {
        "uri": "postgresql+psycopg://me:hidden@host/db",
        "s3.secret-access-key": "from file",
    }
    assert "hidden" not in repr(settings)


@pytest.mark.parametrize("line", ['token = "${NOT_SET_ANYWHERE}"', 'token_file = "/not/there"'])
def test_a_secret_that_is_missing_is_named_when_it_is_needed(home: Path, line: str) -> None:
    write(home, f"[catalogs.a]\n{line}\n")
    settings = load_settings(home)
    with pytest.raises(UsageError, match=r"catalogs\.a\.token") as caught:
        settings.catalog_properties("a")
    assert caught.value.code == "SETTINGS_SECRET_MISSING"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("catalogs = ]", "line 1"),
        ("colour = 'red'", "colour"),
        ("[icdc]\nttl = 'soon'", "icdc.ttl"),
        ("[icdc]\nnamspace = 'x'", "icdc.namspace"),
        ("[catalogs]\na = 'x'", "catalogs.a"),
        ("[catalogs.a]\nuri = ['x']", "uri"),
        ("default_catalog = 'b'\n[catalogs.a]\nuri = 'x'", "default_catalog"),
    ],
)
def test_wrong_settings_are_refused_by_name_with_the_file(home: Path, text: str, reason: str) -> None:
    write(home, text)
    with pytest.raises(UsageError, match=reason) as caught:
        load_settings(home)
    assert caught.value.code == "SETTINGS_INVALID"
    assert str(home / "calve.toml") in caught.value.remedy


def test_a_home_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as caught:
        Settings(home=tmp_path / "file").ensure_home()
    assert caught.value.code == "HOME_NOT_WRITABLE"
