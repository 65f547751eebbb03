"""The jars that Spark fetches when it is first started on a machine."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from calve import logs

_LOCK = "calve.lock"


def announce_download(conf: Mapping[str, str]) -> None:
    """Say so if a start of Spark has to fetch something: it takes a while."""
    if missing := missing_packages(conf):
        names = ", ".join(name.split(":")[1] for name in missing)
        logs.notice(f"calve: fetching {names} for Spark, this once; it may take a minute …")


@contextmanager
def fetching(conf: Mapping[str, str]) -> Iterator[None]:
    """Around a start of Spark: only one at a time fetches. Ivy's cache does not bear two that write it."""
    if not missing_packages(conf):
        yield
        return
    folder = Path(conf["spark.jars.ivy"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not missing_packages(conf):
            # Whoever had the lock before has fetched it all.
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield


def missing_packages(conf: Mapping[str, str]) -> list[str]:
    """The packages of Spark's settings that are not in Ivy's cache yet."""
    jars = Path(conf["spark.jars.ivy"]) / "jars"
    names = filter(None, conf["spark.jars.packages"].split(","))
    return [name for name in names if not (jars / _jar(name)).exists()]


def _jar(package: str) -> str:
    """The name that Ivy gives to the jar of `group:artifact:version`."""
    group, artifact, version = package.split(":")[:3]
    return f"{group}_{artifact}-{version}.jar"
