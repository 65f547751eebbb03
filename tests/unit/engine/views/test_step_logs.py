"""Logs are read in pieces by their place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.engine.places import attempt_place
from calve.engine.views import step_logs
from calve.engine.views.step_logs import LogRequest, read_log
from calve.errors import NotFoundError, UsageError
from calve.settings import load_settings
from calve.state.database import Database
from calve.steps.contract import LOG_FILE
from support.engine_rows import add_run, add_step, push_jobs, set_run, start


class Log:
    """The log of one attempt, and what is read of it."""

    def __init__(self, home: Path) -> None:
        self.settings = load_settings(home)
        self.database = Database(self.settings.state_url)
        push_jobs(self.database, "wf", "a")
        self.run = start(self.database, "wf").run
        set_run(self.database, self.run, status="IN_PROGRESS")

    def write(self, content: bytes, run_id: int = 1, attempt_id: int = 1) -> None:
        file = attempt_place(self.settings, "wf", 1, run_id, "a", attempt_id) / LOG_FILE
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as stream:
            stream.write(content)

    def read(self, **request: Any) -> dict[str, Any]:
        with self.database.read() as connection:
            return read_log(connection, self.settings, LogRequest("wf", 1, "a", **request))


@pytest.fixture
def log(home: Path) -> Iterator[Log]:
    made = Log(home)
    add_step(made.database, made.run, "a", "RUNNING")
    yield made
    made.database.close()


def test_a_log_that_is_not_there_yet_is_empty(log: Log) -> None:
    found = log.read()
    assert (found["text"], found["next_offset"], found["size"], found["complete"]) == ("", 0, 0, False)


def test_a_log_is_read_on_from_its_place(log: Log) -> None:
    log.write(b"one\n")
    first = log.read()
    assert (first["text"], first["next_offset"]) == ("one\n", 4)
    log.write(b"two\n")
    second = log.read(offset=first["next_offset"])
    assert (second["text"], second["complete"]) == ("two\n", False)
    assert log.read(offset=99)["text"] == ""


def test_a_log_is_complete_when_the_attempt_is_over_and_all_is_read(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_logs, "CHUNK", 5)
    log.write(b"0123456")
    add_step(log.database, log.run, "a", "SUCCEEDED", attempt_id=2)
    log.write(b"0123456", attempt_id=2)
    first = log.read()
    assert (first["text"], first["complete"], first["attempt_id"]) == ("01234", False, 2)
    assert log.read(offset=5)["complete"] is True
    assert log.read(attempt="1", offset=5)["complete"] is False


def test_the_tail_of_a_log_is_its_last_lines(log: Log) -> None:
    log.write(b"one\ntwo\nthree\n")
    assert log.read(tail=2)["text"] == "two\nthree\n"
    assert log.read(tail=0)["text"] == ""
    assert log.read(tail=99)["text"] == "one\ntwo\nthree\n"
    log.write(b"open")
    assert log.read(tail=1)["text"] == "open"


def test_the_tail_of_one_endless_line_is_bounded(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_logs, "TAIL_BYTES", 10)
    log.write(b"x" * 1000)
    assert log.read(tail=1)["text"] == "x" * 10


def test_the_newest_run_with_the_step_is_read_unless_one_is_named(log: Log) -> None:
    log.write(b"first")
    set_run(log.database, log.run, latest=False, status="FAILED")
    second = add_run(log.database, log.run, run_id=2, uuid="two", latest=True)
    assert log.read()["text"] == "first"
    add_step(log.database, second, "a", "RUNNING")
    log.write(b"second", run_id=2)
    assert log.read()["text"] == "second"
    assert log.read(run_id=1)["text"] == "first"


def test_what_is_no_place_in_a_log_is_refused(log: Log) -> None:
    with pytest.raises(UsageError, match="below 0"):
        log.read(offset=-1)
    with pytest.raises(UsageError, match="below 0"):
        log.read(tail=-1)
    with pytest.raises(NotFoundError, match="no attempt 7"):
        log.read(attempt="7")


@given(text=st.text(st.characters(codec="utf-8"), max_size=60), size=st.integers(4, 9))
def test_pieces_never_cut_a_character(tmp_path_factory: pytest.TempPathFactory, text: str, size: int) -> None:
    file = tmp_path_factory.mktemp("log") / LOG_FILE
    file.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_logs, "CHUNK", size)
        read, offset = "", 0
        while offset < len(text.encode()):
            piece, offset, _ = step_logs._read_piece(file, offset, is_over=False)
            assert piece
            read += piece
    assert read == text


def test_bytes_that_are_no_text_are_replaced(log: Log) -> None:
    log.write(b"a\xff\xfeb\x80")
    found = log.read()
    assert found["text"] == "a\ufffd\ufffdb\ufffd"
    assert found["next_offset"] == 5
