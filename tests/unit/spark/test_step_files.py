"""What goes between an engine, a step's process and a host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calve.spark.files import read_json, write_json
from calve.spark.host import serving
from calve.spark.host.folder import HostFolder, HostLaunch, HostRecord, Registration, tag_of
from calve.spark.host.locks import acquire, is_held
from calve.spark.host.serving import Host
from calve.spark.properties import to_properties
from calve.spark.step.code_stamp import code_stamp


def launch(value: str = "b") -> HostLaunch:
    return HostLaunch(home="h", java_home=None, conf={"a": value}, idle_timeout_s=1.0)


@pytest.fixture
def folder(tmp_path: Path) -> HostFolder:
    made = HostFolder.of(tmp_path, launch())
    made.prepare(launch())
    return made


def test_files_are_for_their_owner_only(folder: HostFolder) -> None:
    write_json(folder.record_file, {"secret": "x"})
    assert folder.record_file.stat().st_mode & 0o077 == 0
    assert folder.launch_file.stat().st_mode & 0o077 == 0
    assert folder.path.stat().st_mode & 0o077 == 0


def test_what_is_not_whole_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert read_json(file) is None
    file.write_text('{"a": ')
    assert read_json(file) is None


def test_other_settings_have_another_host(tmp_path: Path) -> None:
    first = HostFolder.of(tmp_path, launch())
    assert HostFolder.of(tmp_path, launch()) == first
    assert HostFolder.of(tmp_path, launch("c")) != first


def test_a_lock_is_let_go_by_a_process_that_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    program = (
        "import sys; from pathlib import Path; from calve.spark.host.locks import acquire;"
        "assert acquire(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout
    assert holder.stdout.readline() == b"held\n"
    assert is_held(file)
    assert acquire(file) is None
    holder.kill()
    holder.communicate()
    assert not is_held(file)
    descriptor = acquire(file)
    assert descriptor is not None
    os.close(descriptor)


def test_a_registration_is_held_from_the_moment_it_is_seen(folder: HostFolder) -> None:
    seen_free: list[Path] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen_free.extend(path for path in folder.registered() if not is_held(path) and path.exists())

    looker = threading.Thread(target=look)
    looker.start()
    for number in range(200):
        registration = Registration.make(folder, f"attempt{number}")
        registration.file.unlink()
        os.close(registration.descriptor)
    done.set()
    looker.join()
    assert seen_free == []


def test_a_registration_names_its_tag_and_is_dropped(folder: HostFolder) -> None:
    registration = Registration.make(folder, "one")
    assert tag_of(registration.file) is None
    registration.name_tag("spark-session-1")
    assert tag_of(registration.file) == "spark-session-1"
    assert list(folder.registered()) == [registration.file]
    registration.drop()
    assert list(folder.registered()) == []


def _read_properties(text: str) -> dict[str, str]:
    """As Java reads them."""
    settings: dict[str, str] = {}
    for line in text.split("\n"):
        if not line:
            continue
        parts: list[str] = ["", ""]
        side, escaped = 0, False
        for character in line:
            if escaped:
                parts[side] += {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}.get(character, character)
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == "=" and side == 0:
                side = 1
            else:
                parts[side] += character
        settings[parts[0]] = parts[1]
    return settings


_TEXT = st.text(alphabet="ab =:#!\\\n\r\t\f'\"$é", max_size=12)


@given(st.dictionaries(st.text(alphabet="a.b=: \\#", min_size=1, max_size=8), _TEXT, max_size=4))
def test_properties_give_back_the_settings(settings: dict[str, str]) -> None:
    assert _read_properties(to_properties(settings)) == settings


def test_a_stamp_changes_with_the_code_and_with_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.py").write_text("x = 1")
    before = code_stamp(tmp_path)
    (tmp_path / "data.csv").write_text("1")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "b.py").write_text("x = 1")
    assert code_stamp(tmp_path) == before
    (package / "a.py").write_text("x = 22")
    assert code_stamp(tmp_path) != before


def test_a_jvm_that_a_killed_host_has_left_is_ended(folder: HostFolder) -> None:
    assert folder.has_ended()
    left = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    born = psutil.Process(left.pid).create_time()
    write_json(folder.record_file, asdict(HostRecord(1, left.pid, 1, "x", "4", born - 1)))
    assert folder.has_ended()
    assert left.poll() is None
    write_json(folder.record_file, asdict(HostRecord(1, left.pid, 1, "x", "4", born)))
    assert not folder.has_ended()
    left.communicate()
    assert left.returncode == -signal.SIGKILL
    assert folder.has_ended()


class BusyJvm:
    """A JVM with a thread that nothing ends."""

    def cancel_jobs(self, attempt: str, tag: str | None) -> None:
        """In vain."""

    def is_busy_for(self, attempt: str, tag: str | None, *, interrupt: bool) -> bool:
        return True


def test_a_thread_that_does_not_end_is_ended_with_its_jvm(
    folder: HostFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host(folder, launch(), threading.Event())
    registration = folder.registration_file("attempt")
    write_json(registration, {"tag": None})
    jvm: Any = BusyJvm()
    assert not host._clear(jvm, registration)
    assert not host.stopping.is_set()
    monkeypatch.setattr(serving, "GIVE_UP_AFTER_S", -1.0)
    assert not host._clear(jvm, registration)
    assert host.stopping.is_set()
    # Until the JVM is gone the attempt is not over.
    assert registration.exists()
