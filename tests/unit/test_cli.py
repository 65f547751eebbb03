"""The command line: what it lists, how it answers, how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from calve import __version__
from calve.cli import main as cli
from calve.cli.main import COMMANDS, Entry, load, run
from calve.errors import RefusedError

HEAVY = ("pyiceberg", "sqlalchemy", "pyarrow", "pyspark", "pydantic_settings", "rich", "alembic")


def refuse(json: bool = False) -> None:
    raise RefusedError("NOT_THIS", "that would be wrong", "do something else")


def crash(json: bool = False) -> None:
    raise KeyError("lost")


@pytest.fixture
def _own_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "own_commands", module)
    entries = tuple(Entry(name, "own_commands", name, name) for name in ("refuse", "crash"))
    monkeypatch.setattr(cli, "COMMANDS", entries)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom calve.cli.main import run\n"
        f"code = run(['--help'])\nheavy = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.exit(str(heavy) if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for entry in COMMANDS:
        assert f"  {entry.name} " in done.stdout
        assert f"  {entry.help}\n" in done.stdout, "it is cut off"


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_listed_command_loads_and_has_json(entry: Entry) -> None:
    command = load(entry)
    parts = getattr(command, "commands", {entry.name: command})
    for part in parts.values():
        assert any("--json" in parameter.opts for parameter in part.params), part.name


def test_help_of_a_command_shows_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spark-conf", "--help"]) == 0
    assert "--format" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"calve {__version__}\n"


def test_no_command_shows_help_and_counts_as_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    assert "Commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["captur"], "Did you mean 'capture'?"),
        (["spark-conf", "--format", "xml"], "'xml' is not one of"),
        (["init", "--nonsense"], "--nonsense"),
        (["checkpoint", "shwo"], "No such command 'shwo'"),
    ],
)
def test_wrong_use_exits_2_with_a_reason(
    capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert run(arguments) == 2
    assert reason in capsys.readouterr().err
    assert run([*arguments, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)
    assert error["code"] == "USAGE"
    assert reason in error["message"]
    assert error["remedy"].endswith("--help'")


@pytest.mark.usefixtures("_own_commands")
def test_an_error_is_one_line_and_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["refuse"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == ["error: that would be wrong [NOT_THIS]", "remedy: do something else"]


@pytest.mark.usefixtures("_own_commands")
def test_an_error_with_json_is_an_object_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["refuse", "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out) == {
        "code": "NOT_THIS",
        "message": "that would be wrong",
        "remedy": "do something else",
    }


@pytest.mark.usefixtures("_own_commands")
def test_a_defect_is_one_line_and_its_traceback_goes_to_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("CALVE_HOME", str(home))
    assert run(["crash", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)
    assert (error["code"], error["message"]) == ("INTERNAL", "internal error: KeyError: 'lost'")
    assert str(home / "errors.log") in error["remedy"]
    assert "Traceback" in (home / "errors.log").read_text()


@pytest.mark.usefixtures("_own_commands")
def test_a_defect_shows_its_traceback_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALVE_DEBUG", "1")
    assert run(["crash"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_init_makes_a_home_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["init", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first == {
        "home": str(tmp_path / ".calve"),
        "settings": str(tmp_path / ".calve" / "calve.toml"),
        "catalogs": ["lake"],
        "created": True,
    }
    assert {path.name for path in (tmp_path / ".calve").iterdir()} >= {
        "calve.toml",
        "catalog.db",
        "warehouse",
    }
    (tmp_path / ".calve" / "calve.toml").write_text("# mine\n")
    assert run(["init", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["created"] is False
    assert (tmp_path / ".calve" / "calve.toml").read_text() == "# mine\n"


def test_init_where_it_cannot_be_is_a_users_mistake(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    assert run(["init", "--home", "file", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "HOME_NOT_WRITABLE"


def test_spark_conf_prints_the_lake_of_the_home(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(["init", "--json"])
    capsys.readouterr()
    assert run(["spark-conf"]) == 0
    assert f"spark.sql.catalog.lake.uri jdbc:sqlite:{tmp_path}/.calve/catalog.db\n" in capsys.readouterr().out
    assert run(["spark-conf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conf"]["spark.sql.defaultCatalog"] == "lake"


def test_a_wrong_log_level_is_a_users_mistake(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALVE_LOG_LEVEL", "loud")
    assert run(["spark-conf", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "LOG_LEVEL_INVALID"
