from __future__ import annotations

import threading
from pathlib import Path

from calve.spark.packages import fetching, missing_packages

PACKAGE = "org.example:lib_2.13:1.0"
JAR = "org.example_lib_2.13-1.0.jar"
#: Long enough for a thread that nothing holds to get through.
A_WHILE_S = 0.3


def conf(ivy: Path) -> dict[str, str]:
    return {"spark.jars.ivy": str(ivy), "spark.jars.packages": f"{PACKAGE},"}


def fetch(ivy: Path) -> None:
    (ivy / "jars").mkdir(parents=True, exist_ok=True)
    (ivy / "jars" / JAR).touch()


class Start:
    """A start of Spark in a thread of its own, which ends when it is told to."""

    def __init__(self, ivy: Path) -> None:
        self.is_in, self.may_end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, args=[ivy])
        self._thread.start()

    def _run(self, ivy: Path) -> None:
        with fetching(conf(ivy)):
            self.is_in.set()
            assert self.may_end.wait(60)

    def end(self) -> None:
        self.may_end.set()
        self._thread.join()


def test_a_jar_is_missing_until_it_is_there(tmp_path: Path) -> None:
    assert missing_packages(conf(tmp_path)) == [PACKAGE]
    fetch(tmp_path)
    assert missing_packages(conf(tmp_path)) == []


def test_one_start_at_a_time_fetches(tmp_path: Path) -> None:
    ivy = tmp_path / "ivy"
    first = Start(ivy)
    assert first.is_in.wait(60)
    second = Start(ivy)
    assert not second.is_in.wait(A_WHILE_S)
    first.end()
    assert second.is_in.wait(60)
    second.end()


def test_starts_that_find_everything_fetched_go_on_together(tmp_path: Path) -> None:
    first = Start(tmp_path)
    assert first.is_in.wait(60)
    waiting = [Start(tmp_path), Start(tmp_path)]
    fetch(tmp_path)
    third = Start(tmp_path)
    assert third.is_in.wait(60), "nothing is missing: it need not wait"
    first.end()
    assert all(start.is_in.wait(60) for start in waiting), "one would wait for the other to end"
    for start in (*waiting, third):
        start.end()
