from __future__ import annotations

import json
from pathlib import Path

import pytest

from calve.cli.main import run


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_a_folder_gets_a_project_with_a_home_in_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["init", "mine", "--json"]) == 0
    found = printed(capsys)
    assert (found["project"], found["home"]) == (str(tmp_path / "mine"), str(tmp_path / "mine" / ".calve"))
    files = found["files"]
    assert isinstance(files, list)
    assert set(files) >= {
        ".gitignore",
        "README.md",
        "tests/test_watch_daily.py",
        "watch/daily.py",
        "workflows/watch_daily.sql",
        "workflows/watch_daily.yaml",
    }
    assert all((tmp_path / "mine" / file).is_file() for file in files)
    assert not list((tmp_path / "mine").rglob("__pycache__"))


@pytest.mark.parametrize("options", [[], ["--spark"]], ids=["python", "spark"])
def test_what_is_written_is_valid(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert run(["init", "mine", *options]) == 0
    said = capsys.readouterr().out
    assert "cd mine" in said
    assert "calve push workflows" in said
    assert run(["validate", "mine", "--json"]) == 0
    found = printed(capsys)
    assert isinstance(found["files"], list)
    assert [(file["valid"], file["warnings"]) for file in found["files"]] == [(True, []), (True, [])]


def test_a_project_in_spark_has_no_step_of_its_own(tmp_path: Path) -> None:
    assert run(["init", "mine", "--spark", "--json"]) == 0
    assert not (tmp_path / "mine" / "watch" / "daily.py").exists()
    assert "IncrementalAggregate" in (tmp_path / "mine" / "workflows" / "watch_daily.yaml").read_text()


def test_no_file_is_written_over_and_none_is_written_beside_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("my own\n")
    assert run(["init", "mine", "--json"]) == 2
    error = printed(capsys)
    assert (error["code"], error["message"]) == ("PROJECT_EXISTS", "mine has README.md already")
    assert error["remedy"] == "choose another folder, or move these files away"
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["README.md"]
    assert (tmp_path / "mine" / "README.md").read_text() == "my own\n"


def test_a_folder_with_other_files_is_fine(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    assert run(["init", ".", "--json"]) == 0
    assert (tmp_path / ".calve" / "calve.toml").is_file()
    assert (tmp_path / "workflows" / "watch_daily.yaml").is_file()


def test_a_home_that_is_named_is_used_for_the_project(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALVE_HOME", str(tmp_path / "elsewhere"))
    assert run(["init", "mine", "--json"]) == 0
    assert printed(capsys)["home"] == str(tmp_path / "elsewhere")
    assert not (tmp_path / "mine" / ".calve").exists()


def test_spark_without_a_folder_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["init", "--spark", "--json"]) == 2
    assert "calve init my_project --spark" in str(printed(capsys)["remedy"])
    assert not (tmp_path / ".calve").exists()


def test_a_file_in_the_place_of_a_folder_is_a_users_mistake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mine").touch()
    assert run(["init", "mine", "--home", "home", "--json"]) == 2
    assert printed(capsys)["code"] == "PROJECT_NOT_WRITABLE"
