"""A start of Spark whose jars do not come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from pyspark import java_gateway
from pyspark.errors import PySparkRuntimeError

from calve.errors import FailedError, UnreachableError
from calve.spark.session import launch_jvm

BROKEN_OFF = 'Exception in thread "main" RuntimeException: [download failed: org.example#lib;1.0!lib.jar]\n'
OFFLINE = ":: org.example#lib;1.0: not found\nunresolved dependency: org.example#lib;1.0: not found]\n"
WRONG = "Error: Invalid or corrupt jarfile\n"
GATEWAY = object()


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let JVMs print these texts and end, one after the other; the one after them lives."""

    def prepare(*texts: str) -> list[str]:
        left = list(texts)

        def launch(_: object, options: dict[str, IO[bytes]]) -> Any:
            if not left:
                return GATEWAY
            options["stdout"].write(left.pop(0).encode())
            options["stdout"].flush()
            raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

        monkeypatch.setattr(java_gateway, "launch_gateway", launch)
        return left

    return prepare


def launch(folder: Path) -> Any:
    conf = {"spark.jars.ivy": str(folder / "ivy"), "spark.jars.packages": "org.example:lib:1.0"}
    return launch_jvm(conf, folder / "spark.log")


def test_a_download_that_broke_off_is_begun_again(starts: Callable[..., list[str]], tmp_path: Path) -> None:
    starts(BROKEN_OFF, BROKEN_OFF)
    assert launch(tmp_path) is GATEWAY


def test_jars_that_do_not_come_are_told_by_name(starts: Callable[..., list[str]], tmp_path: Path) -> None:
    starts(BROKEN_OFF, BROKEN_OFF, OFFLINE)
    with pytest.raises(UnreachableError, match=r"org\.example#lib;1\.0, which could not be fetched") as error:
        launch(tmp_path)
    assert error.value.code == "JARS_UNREACHABLE"


def test_what_a_further_try_cannot_mend_is_told_at_once(
    starts: Callable[..., list[str]], tmp_path: Path
) -> None:
    left = starts(BROKEN_OFF, WRONG, BROKEN_OFF)
    with pytest.raises(FailedError, match="corrupt jarfile"):
        launch(tmp_path)
    assert left == [BROKEN_OFF]
