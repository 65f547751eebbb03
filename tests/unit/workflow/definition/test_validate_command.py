"""`calve validate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calve.cli.definitions import FolderReader
from calve.cli.main import run
from calve.errors import NotFoundError
from unit.workflow.definition.helpers import SEEDS

GOOD = "Workflow:\n  id: good\n  q: $FILE{q.sql}\n  jobs: [{job: {id: a, type: NoOp}}]\n"
BAD = "Workflow:\n  id: bad\n  jobs:\n    - job: {id: a, type: Sprak}\n    - job: {id: a, type: NoOp}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "q.sql").write_text("SELECT 1")
    return tmp_path


def test_files_that_are_fine_exit_with_zero(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(folder)]) == 0
    assert "good.yaml: good, 1 jobs" in capsys.readouterr().out


def test_the_seeds_are_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(SEEDS), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is True
    assert [file["workflow_id"] for file in found["files"]] == [
        "auto.remediation.pipeline",
        "demo.pipeline",
        "incremental.processing.pipeline",
        "playback_daily_workflow",
    ]


def test_every_error_is_shown_with_file_line_and_column(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.yaml").write_text(BAD)
    assert run(["validate", str(folder)]) == 2
    shown = capsys.readouterr().out
    assert f"{folder}/bad.yaml:4:26: 'Sprak' is not a type of job [STEP_TYPE_UNKNOWN]" in shown
    assert "Did you mean 'Spark'?" in shown
    assert f"{folder}/bad.yaml:5:17: the id 'a' is used here and at line 4 [ID_DUPLICATE]" in shown
    assert "2 errors in 1 of 2 files" in shown


def test_json_lists_the_errors_of_every_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.yaml").write_text(BAD)
    assert run(["validate", str(folder / "bad.yaml"), str(folder / "good.yaml"), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [(file["valid"], [error["code"] for error in file["errors"]]) for file in found["files"]] == [
        (False, ["STEP_TYPE_UNKNOWN", "ID_DUPLICATE"]),
        (True, []),
    ]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("link.yaml", GOOD.replace("q.sql", "out.sql").encode(), "INCLUDE_OUTSIDE"),
        ("none.yaml", GOOD.replace("q.sql", "none.sql").encode(), "INCLUDE_NOT_FOUND"),
        ("latin.yaml", "Workflow: {id: ä}".encode("latin-1"), "FILE_NOT_TEXT"),
        ("big.yaml", b"a: " + b"x" * 300_000, "FILE_TOO_BIG"),
        ("long.yaml", ("a: " + "ä" * 200_000).encode(), "FILE_TOO_BIG"),
        ("broken.json", b"{", "JSON_SYNTAX"),
    ],
)
def test_files_that_cannot_be_read_are_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, code: str
) -> None:
    (folder / "flows").mkdir()
    (folder / "flows" / "out.sql").symlink_to(folder / "q.sql")
    (folder / "flows" / name).write_bytes(content)
    assert run(["validate", str(folder / "flows" / name), "--json"]) == 2
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert [error["code"] for error in file["errors"]] == [code]


def test_nothing_to_check_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(tmp_path)]) == 2
    assert run(["validate", str(tmp_path / "none.yaml")]) == 2
    assert "FILE_NOT_FOUND" in capsys.readouterr().err


def test_objects_are_read_by_their_address() -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    MemoryFileSystem().pipe_file("/q.sql", b"SELECT 1")
    reader = FolderReader(Path())
    assert reader.read_object("memory://q.sql") == "SELECT 1"
    with pytest.raises(NotFoundError):
        reader.read_object("memory://none.sql")
